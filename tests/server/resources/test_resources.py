"""Resources, completion and prompts, in both eras: everything can be read, and every refusal says what to do next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmbeddedResource,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.resources import addresses, skill_files
from minions_evals_mcp.server.resources.completion import FIXED
from minions_evals_mcp.server.resources.prompts import PROMPTS
from minions_evals_mcp.skills import NAMES
from tests.shared.server.hosts import Host, hosted, judged, part, read_by_people, rows, suite
from tests.workshop import Json, config_in

SLASHED = "support/refund:1"


async def text_at(host: Host, address: str) -> str:
    """What stands at the address."""
    (only,) = (await host.client.read_resource(address)).contents
    assert isinstance(only, TextResourceContents)
    return only.text


async def read(host: Host, address: str) -> Json:
    """The same as an object."""
    return cast("Json", json.loads(await text_at(host, address)))


async def refused(host: Host, address: str) -> str:
    """Why the address cannot be read; each of these is the asker's mistake."""
    with pytest.raises(MCPError) as told:
        await host.client.read_resource(address)
    return told.value.message


async def ran(host: Host, size: int = 3) -> str:
    """The run of a benchmark of which the first case fails."""
    await host.call("save_records", records=suite(size))
    return str((await host.call("run_benchmark", benchmarkId="b", waitSeconds=50))["runId"])


async def test_the_index_says_what_there_is_and_where_the_newest_runs_are_read(host: Host) -> None:
    run_id = await ran(host)
    index = await read(host, addresses.INDEX)
    counts = part(index, "records")
    assert (counts["test-case"], counts["benchmark"], counts["run"], counts["test-run"]) == (3, 1, 1, 3)
    assert rows(index, "runs")[0]["uri"] == addresses.record_address("run", run_id)
    assert "benchmark b: completed" in str((await read(host, str(rows(index, "runs")[0]["uri"])))["summary"])


async def test_every_listed_resource_can_be_read_and_every_template_is_offered(host: Host) -> None:
    for one in (await host.client.list_resources()).resources:
        assert await text_at(host, str(one.uri))
    offered = [one.uri_template for one in (await host.client.list_resource_templates()).resource_templates]
    assert offered == [
        addresses.RESULTS, addresses.TREND, addresses.HISTORY, addresses.PRODUCTION, addresses.SCHEMA,
        addresses.SKILL, addresses.RECORD, skill_files.FILES,
    ]  # fmt: skip


async def test_the_guide_ends_with_the_hard_rules(host: Host) -> None:
    assert "- HR5: Regressions are surfaced at once" in await text_at(host, addresses.GUIDE)


async def test_every_type_has_a_schema_and_every_skill_a_text(host: Host) -> None:
    for kind in TYPES:
        assert (await read(host, addresses.SCHEMA.format(type=kind)))["slug"] == kind
    for name in NAMES:
        assert (await text_at(host, addresses.SKILL.format(name=name))).startswith(f"# {name}\n")


async def test_an_id_with_a_slash_and_a_colon_is_read_percent_encoded(host: Host) -> None:
    record: Json = {"id": SLASHED, "type": "test-case", "fields": {"name": "x", "inputs": {"q": "x"}}}
    await host.call("save_records", records=[record])
    address = addresses.record_address("test-case", SLASHED)
    assert address == "evals://test-case/support%2Frefund%3A1"
    assert part(await read(host, address), "record")["id"] == SLASHED
    assert (await read(host, addresses.history_address(SLASHED)))["testCaseId"] == SLASHED
    odd: Json = {"id": "../etc/passwd", "type": "test-case", "fields": {"name": "x", "inputs": {"q": "x"}}}
    await host.call("save_records", records=[odd])
    found = await read(host, addresses.record_address("test-case", "../etc/passwd"))
    assert part(found, "record")["id"] == "../etc/passwd", "an id names no file"


async def test_results_are_filtered_and_paged_the_failed_first(host: Host) -> None:
    address = addresses.results_address(await ran(host, 5))
    first = await read(host, f"{address}?limit=2")
    assert [one["status"] for one in rows(first, "results")] == ["failed", "passed"]
    assert rows(first, "results")[0]["failureType"] == "wrong-output"
    rest = await read(host, f"{address}?limit=100&cursor={first['nextCursor']}")
    assert len(rows(rest, "results")) == 3
    assert "nextCursor" not in rest
    assert [one["testCaseId"] for one in rows(await read(host, f"{address}?status=failed"), "results")] == ["c0"]
    assert rows(await read(host, f"{address}?status=unscored"), "results") == []
    judgment = await read(host, str(rows(first, "results")[0]["uri"]))
    assert part(judgment, "record")["type"] == "test-run"


async def test_trend_and_history_say_what_the_tools_say(host: Host) -> None:
    await ran(host)
    assert await read(host, addresses.trend_address("b")) == await host.call("detect_trend", benchmarkId="b", limit=60)
    history = await read(host, addresses.history_address("c0"))
    assert history["passRate"] == 0
    assert rows(history, "recentRuns")[0]["passed"] is False


async def test_the_outbox_shows_what_is_told_and_what_waits(host: Host) -> None:
    await host.call("save_records", records=suite(2, bad=0))
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    assert rows(await read(host, addresses.OUTBOX), "rows") == []
    later = [cast("Json", one) for one in suite(2, bad=2)]
    worse = [{**one, "id": f"later-{one['id']}"} for one in later if one["type"] == "agent-run"]
    await host.call("save_records", records=worse)
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    outbox = await read(host, addresses.OUTBOX)
    assert {str(one["type"]) for one in rows(outbox, "rows")} >= {"agent-message", "task"}
    assert rows(outbox, "waiting")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("evals://nope", "unknown-resource"),
        ("evals://test-case/support/refund", "percent-encoded"),
        ("evals://test-cases/c0", "Did you mean test-case?"),
        ("evals://schemas/run", "Nearest: "),
        ("evals://schema/test-case", "Read evals://schemas/test-case."),
        ("evals://skill/run-benchmark", "Read evals://skills/run-benchmark."),
        ("evals://skills/run-tests", "Did you mean run-test-case?"),
        ("evals://test-case/none", 'list_records {"type": "test-case"}'),
        ("evals://benchmark/c0", "evals://test-case/c0"),
        ("evals://runs/none/results", 'list_records {"type": "run"}'),
        ("evals://runs/k/results?status=fail", "Did you mean failed?"),
        ("evals://runs/k/results?limit=0", "from 1 to 200"),
        ("evals://runs/k/results?cursor=-1", "whole number"),
        ("evals://benchmarks/none/trend", 'list_records {"type": "benchmark"}'),
        ("evals://benchmarks/b/trend", 'run_benchmark {"benchmarkId": "b"}'),
        ("evals://test-cases/none/history", 'list_records {"type": "test-case"}'),
    ],
)
async def test_a_refused_address_says_what_to_read_instead(host: Host, address: str, why: str) -> None:
    await host.call("save_records", records=suite(1))
    if "/runs/k/" in address:
        await host.call("run_test_case", testCaseId="c0", idempotencyKey="k", waitSeconds=50)
    assert why in await refused(host, address)


async def test_a_large_record_stays_within_the_size_of_an_answer(host: Host) -> None:
    long = {
        "id": "long",
        "type": "test-case",
        "fields": {"name": "x", "inputs": {f"q{n}": "word " * 4000 for n in range(20)}},
    }
    await host.call("save_records", records=[long])
    text = await text_at(host, addresses.record_address("test-case", "long"))
    assert len(text) <= 20_000
    assert json.loads(text)["truncated"] is True


async def test_a_read_only_server_offers_every_resource(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        run_id = await ran(host)
    async with hosted(config_in(tmp_path), options=ServerOptions(read_only=True)) as host:
        assert rows(await read(host, addresses.results_address(run_id)), "results")


async def completed(
    host: Host, ref: PromptReference | ResourceTemplateReference, name: str, typed: str, given: Mapping[str, str]
) -> list[str]:
    """What is offered for that argument."""
    found = await host.client.complete(ref, {"name": name, "value": typed}, dict(given))
    return found.completion.values


async def test_ids_are_offered_while_they_are_typed(host: Host) -> None:
    run_id = await ran(host)
    version: Json = {"id": "p@1", "type": "prompt-version", "fields": {"content": "x", "versionNumber": 1}}
    await host.call("save_records", records=[version])
    record = ResourceTemplateReference(uri=addresses.RECORD)
    assert await completed(host, record, "id", "c", {"type": "test-case"}) == ["c2", "c1", "c0"]
    assert await completed(host, record, "id", "", {"type": "run"}) == [run_id]
    assert await completed(host, record, "id", f"{run_id}:1", {"type": "test-run"}) == [f"{run_id}:1.1"]
    assert await completed(host, record, "id", "", {}) == []
    assert await completed(host, record, "type", "test-c", {}) == ["test-case"]
    for template, name, typed, offered in (
        (addresses.RESULTS, "id", run_id[:3], [run_id]),
        (addresses.RESULTS, "status", "f", ["failed"]),
        (addresses.TREND, "id", "", ["b"]),
        (addresses.HISTORY, "id", "c1", ["c1"]),
        (addresses.SKILL, "name", "detect", ["detect-trend"]),
        (addresses.SKILL, "nothing", "", []),
    ):
        assert await completed(host, ResourceTemplateReference(uri=template), name, typed, {}) == offered
    for prompt, name, offered in (
        ("triage_failures", "runId", [run_id]),
        ("compare_prompts", "benchmarkId", ["b"]),
        ("compare_prompts", "versionB", ["p@1"]),
        ("write_test_cases", "subject", []),
    ):
        assert await completed(host, PromptReference(name=prompt), name, "", {}) == offered


async def test_no_more_than_a_hundred_ids_are_offered(host: Host) -> None:
    await host.call("save_records", records=[one for one in suite(101) if cast("Json", one)["type"] == "test-case"])
    found = await host.client.complete(ResourceTemplateReference(uri=addresses.HISTORY), {"name": "id", "value": ""})
    assert (len(found.completion.values), found.completion.has_more) == (100, True)


def test_the_skills_that_are_offered_are_those_that_there_are() -> None:
    assert FIXED[addresses.SKILL, "name"] == NAMES


async def test_prompts_lay_what_they_are_about_beside_their_words(host: Host) -> None:
    run_id = await ran(host)
    people = [cast("Json", one) for one in read_by_people(1)]
    await host.call("save_records", records=[{**one, "id": str(one["id"]).replace("a-c0", "later")} for one in people])
    waits = str((await host.call("run_benchmark", benchmarkId="b", judge="caller", waitSeconds=50))["runId"])
    given = {
        "triage_failures": {"runId": run_id},
        "compare_prompts": {"benchmarkId": "b", "versionA": "p@1", "versionB": "p@2"},
        "write_test_cases": {"subject": "a {support} agent", "count": "7"},
        "judge_packet": {"runId": waits},
        "release_check": {"benchmarkId": "b", "promptVersionRef": "p@2"},
    }
    assert [one.name for one in (await host.client.list_prompts()).prompts] == list(given) == list(PROMPTS)
    beside: dict[str, str] = {}
    for name, arguments in given.items():
        found = await host.client.get_prompt(name, arguments)
        first, *rest = [message.content for message in found.messages]
        assert isinstance(first, TextContent)
        assert all(value in first.text for value in arguments.values())
        for content in rest:
            assert isinstance(content, EmbeddedResource)
            assert isinstance(content.resource, TextResourceContents)
            beside[name] = beside.get(name, "") + content.resource.text
    assert "wrong-output" in beside["triage_failures"]
    assert '"slug":"rubric-criterion"' in beside["write_test_cases"]
    packets = rows(cast("Json", json.loads(beside["judge_packet"])), "packets")
    done = await host.call("submit_judgments", runId=waits, judgedBy="me", packets=[judged(one) for one in packets])
    assert done["state"] == "completed"


async def test_a_release_is_checked_before_the_first_run_of_its_benchmark(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    found = await host.client.get_prompt("release_check", {"benchmarkId": "b", "promptVersionRef": "p@2"})
    _, laid = [message.content for message in found.messages]
    assert isinstance(laid, EmbeddedResource)
    assert str(laid.resource.uri) == addresses.record_address("benchmark", "b")
    with pytest.raises(MCPError, match="nowhere"):
        await host.client.get_prompt("release_check", {"benchmarkId": "nowhere", "promptVersionRef": "p@2"})


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("triage", {}, "unknown-prompt: 'triage'; prompts are triage_failures"),
        ("triage_failures", {}, "triage_failures needs runId"),
        ("triage_failures", {"runid": "x"}, "did you mean 'runId'?"),
        ("triage_failures", {"runId": "none"}, 'list_records {"type": "run"}'),
        ("write_test_cases", {"subject": "x" * 2001}, "longer than 2,000 characters"),
    ],
)
async def test_a_prompt_that_cannot_be_made_is_a_bad_parameter(
    host: Host, name: str, arguments: dict[str, str], why: str
) -> None:
    with pytest.raises(MCPError) as told:
        await host.client.get_prompt(name, arguments)
    assert told.value.code == INVALID_PARAMS
    assert why in told.value.message


async def test_the_instructions_are_six_lines(host: Host) -> None:
    assert len((host.client.instructions or "").splitlines()) == 6


async def test_half_a_character_is_refused_everywhere(tmp_path: Path) -> None:
    """In the 2025 era nothing in the client stops it."""
    async with hosted(config_in(tmp_path), era="legacy") as host:
        assert "broken Unicode" in await refused(host, "evals://skills/\ud800")
        with pytest.raises(MCPError, match="broken Unicode"):
            await host.client.get_prompt("triage_failures", {"runId": "\ud800"})
        assert await completed(host, ResourceTemplateReference(uri=addresses.TREND), "id", "\ud800", {}) == []
