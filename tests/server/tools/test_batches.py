"""A batch of some cases, and two stored runs compared, through the tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from tests.shared.cli.terminal import Terminal
from tests.shared.server.hosts import Host, hosted, part, rows, suite
from tests.workshop import Json, config_in


async def test_a_batch_runs_the_named_cases_only_and_is_no_measure_of_the_benchmark(host: Host) -> None:
    await host.call("save_records", records=suite(4))
    dry = await host.call("run_benchmark", benchmarkId="b", testCaseIds=["c1", "c3"], dryRun=True)
    assert dry["units"] == 2
    batch = await host.call("run_benchmark", benchmarkId="b", testCaseIds=["c1", "c3"], waitSeconds=50)
    assert "2 of 2 passed" in str(batch["summary"])
    whole = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    assert "3 of 4 passed" in str(whole["summary"])
    assert "regression" not in whole, "the batch before it is nothing to fall from"
    assert len(rows(await host.call("detect_trend", benchmarkId="b"), "points")) == 1


async def test_a_batch_of_strangers_or_of_a_rejudged_run_is_refused(host: Host) -> None:
    await host.call("save_records", records=suite(2))
    assert "no test case of the benchmark" in await host.refused("run_benchmark", benchmarkId="b", testCaseIds=["c9"])
    assert "named twice" in await host.refused("run_benchmark", benchmarkId="b", testCaseIds=["c1", "c1"])
    assert "cannot be combined with" in await host.refused(
        "run_benchmark", benchmarkId="b", testCaseIds=["c1"], rejudgeRunId="job1"
    )


async def test_a_batch_under_a_key_is_another_run_than_the_whole(host: Host) -> None:
    await host.call("save_records", records=suite(2))
    await host.call("run_benchmark", benchmarkId="b", testCaseIds=["c1"], idempotencyKey="k", waitSeconds=50)
    assert (await host.refused("run_benchmark", benchmarkId="b", idempotencyKey="k")).startswith("conflict")
    again = await host.call("run_benchmark", benchmarkId="b", testCaseIds=["c1"], idempotencyKey="k", waitSeconds=50)
    assert "1 of 1 passed" in str(again["summary"])


def _versions(size: int) -> list[Json]:
    """Outputs of two versions of a prompt: the first is bad throughout."""
    found: list[Json] = [
        {"id": f"p@{number}", "type": "prompt-version", "fields": {"content": f"v{number}", "versionNumber": number}}
        for number in (1, 2)
    ]
    for number, bad in ((1, size), (2, 0)):
        for one in suite(size, bad=bad):
            record = cast("Json", one)
            if record["type"] == "agent-run":
                cast("Json", record["fields"])["promptVersionRef"] = f"p@{number}"
                found.append({**record, "id": f"{number}-{record['id']}"})
    return found


async def test_two_stored_runs_are_compared_as_they_are(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=[*suite(8), *_versions(8)])
        before, after = [
            str((await host.call("run_benchmark", benchmarkId="b", promptVersionRef=one, waitSeconds=50))["runId"])
            for one in ("p@1", "p@2")
        ]
        made = await host.call("compare_prompt_versions", runIds=[before, after])
        assert "improved; p@2 scores 1.000, p@1 0.000 on 8 cases" in str(made["summary"])
        assert part(made, "comparison")["runA"] == before
        (said,) = cast("list[str]", made["next"])
        assert said.startswith("p@2 cannot be approved on this: HR2: p@2 is already the current version of its prompt")
        assert "characters)" not in said, "what follows is not cut"
        same = await host.call("compare_prompt_versions", runIds=[before, after])
        assert part(same, "comparison")["comparisonId"] == part(made, "comparison")["comparisonId"]
        assert "benchmark-run" in await host.refused("compare_prompt_versions", runIds=[before, "none"])


async def test_a_regressed_comparison_names_the_calls_that_tell_why(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=[*suite(8), *_versions(8)])
        for key, version in (("fallen", "p@1"), ("good", "p@2")):
            asked: Json = {"benchmarkId": "b", "promptVersionRef": version, "idempotencyKey": key, "waitSeconds": 50}
            await host.call("run_benchmark", **asked)
        made = await host.call("compare_prompt_versions", runIds=["good", "fallen"])
        assert part(made, "comparison")["verdict"] == "regressed"
        answers: list[Json] = []
        for said in cast("list[str]", made["next"]):
            tool, _, wish = said.partition(": ")[2].partition(" ")
            answers.append(await host.call(tool, **json.loads(wish)))
        classified, shown = answers
        assert "failures of" in str(classified["summary"])
        assert rows(shown, "failures")


async def test_a_comparison_names_versions_or_runs_and_not_both(host: Host) -> None:
    for arguments, why in (
        ({"benchmarkId": "b", "versionA": "p@1"}, "give benchmarkId, versionA and versionB, or runIds"),
        ({"runIds": ["x", "y"], "benchmarkId": "b"}, "runIds: cannot be combined with"),
        ({"runIds": ["x", "x"]}, "name two runs"),
        ({"benchmarkId": "b", "versionA": "p", "versionB": "p"}, "name two versions"),
    ):
        assert why in await host.refused("compare_prompt_versions", **arguments)


async def test_a_batch_says_how_many_of_its_cases_have_no_verdict(host: Host, tmp_path: Path) -> None:
    cases = cast("list[Json]", [one for one in suite(2) if cast("Json", one)["type"] != "benchmark"])
    for record in cases:
        fields = cast("Json", record["fields"])
        if record["type"] == "test-case":
            fields["promptId"] = "p"
        if record["id"] == "c1":
            del fields["expectedOutputs"]
    version = {
        "id": "v1",
        "type": "prompt-version",
        "fields": {"content": "{{q}}", "versionNumber": 1, "promptId": "p"},
    }
    await host.call("save_records", records=[cast("JsonValue", version), *cast("list[JsonValue]", cases)])
    batch = await host.call("run_test_case", promptId="p", waitSeconds=50)
    assert batch["summary"] == "0 of 2 test cases of p passed; 1 has no verdict"
    assert [one["passed"] for one in rows(batch, "executions")] == [False, None]
    told = Terminal(tmp_path).run("batch-run-tests", "p")
    assert told.out.startswith("p: 0 of 2 passed, 1 without a verdict")


async def test_a_batch_of_a_prompt_names_what_passed_what_could_not_be_run_and_what_goes_on(host: Host) -> None:
    versions: list[JsonValue] = [
        {"id": "v1", "type": "prompt-version", "fields": {"content": "{{q}}", "versionNumber": 1, "promptId": "p"}}
    ]
    cases = cast("list[Json]", [one for one in suite(3) if cast("Json", one)["type"] != "benchmark"])
    for record in cases:
        if record["type"] == "test-case":
            cast("Json", record["fields"])["promptId"] = "p"
    silent = {"name": "silent", "promptId": "p", "inputs": {"q": "silent"}, "expectedOutputs": {"output": "good"}}
    await host.call(
        "save_records", records=[*versions, *cases, {"id": "silent", "type": "test-case", "fields": silent}]
    )
    dry = await host.call("run_test_case", promptId="p", dryRun=True)
    assert dry["units"] == 4
    batch = await host.call("run_test_case", promptId="p", waitSeconds=50)
    assert batch["summary"] == "2 of 4 test cases of p passed; 1 could not be run"
    assert [(one["testCaseId"], one["passed"]) for one in rows(batch, "executions")] == [
        ("c0", False), ("c1", True), ("c2", True),
    ]  # fmt: skip
    assert [one["testCaseId"] for one in rows(batch, "notRun")] == ["silent"]
    assert "promptId" in await host.refused("run_test_case", testCaseIds=["c1"])
    assert (await host.refused("run_test_case", promptId="p", promptVersionRef="9")).startswith("not-found")
