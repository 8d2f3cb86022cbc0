"""Ids by their beginnings over MCP: a tool that reads takes them and names what it read; one that writes is refused with the whole id.

Generated over every argument of every tool that names records.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from minions_evals_mcp.domain.request_fields import Names, names_in
from minions_evals_mcp.server.catalogue import CATALOGUE
from tests.shared.server.hosts import Host, hosted
from tests.workshop import Json, config_in

WHOLE = {
    "test-case": "refunds/late", "benchmark": "quality/all", "prompt-version": "version-one", "test-branch": "branch/fast",
    "agent-run": "output/of-refunds", "prompt": "prompts/support", "prompt-comparison": "compared/once", "world": "world/of-tools",
}  # fmt: skip
"""The ids of the store's records, one of each type."""
LONG = 8
GIVEN: dict[str, list[Json]] = {
    "run_test_case": [
        {"testCaseId": WHOLE["test-case"], "agentRunId": WHOLE["agent-run"], "promptVersionRef": WHOLE["prompt-version"]},
        {"promptId": WHOLE["prompt"], "testCaseIds": [WHOLE["test-case"]]},
        {"testCaseId": WHOLE["test-case"], "world": WHOLE["world"]},
    ],
    "run_benchmark": [
        {"benchmarkId": WHOLE["benchmark"], "promptVersionRef": WHOLE["prompt-version"], "testCaseIds": [WHOLE["test-case"]]},
        {"benchmarkId": WHOLE["benchmark"], "world": WHOLE["world"]},
    ],
    "compare_prompt_versions": [{"benchmarkId": WHOLE["benchmark"], "versionA": WHOLE["prompt-version"], "versionB": "version-two"}],
    "try_version": [{"benchmarkId": WHOLE["benchmark"], "version": "version-two", "against": WHOLE["prompt-version"]}],
    "run_ab_test": [
        {"testCaseId": WHOLE["test-case"], "branchIds": [WHOLE["test-branch"], "branch/slow"], "promptVersion": WHOLE["prompt-version"]},
        {"testCaseIds": [WHOLE["test-case"]], "branchIds": ["branch/slow", WHOLE["test-branch"]]},
        {"benchmarkId": WHOLE["benchmark"], "branchIds": ["branch/slow", WHOLE["test-branch"]]},
    ],
    "classify_failure": [{"id": "latest"}],
    "promote_failure": [{"id": WHOLE["agent-run"], "into": WHOLE["benchmark"]}],
    "detect_trend": [{"benchmarkId": WHOLE["benchmark"]}],
    "audit_benchmark": [{"benchmarkId": WHOLE["benchmark"]}],
    "plan_benchmark": [{"benchmarkId": WHOLE["benchmark"]}],
    "get_statistics": [{"testCaseId": WHOLE["test-case"]}, {"promptId": WHOLE["prompt"]}, {"branchId": WHOLE["test-branch"]}],
    "get_record": [{"id": WHOLE["test-case"]}],
    "approve_prompt_version": [
        {"promptVersionRef": WHOLE["prompt-version"], "comparisonId": WHOLE["prompt-comparison"]},
        {"promptVersionRef": WHOLE["prompt-version"], "benchmarkIds": [WHOLE["benchmark"]]},
    ],
    "suite_from_traces": [{"agentId": "desk", "accept": [WHOLE["test-case"]]}],
    "suite_from_prompt": [{"accept": [WHOLE["test-case"]]}, {"promptVersionRef": WHOLE["prompt-version"]}],
}  # fmt: skip
"""For each tool calls that name records, between them in every argument that does."""
OF_RUNS = {("classify_failure", "id")}
"""A run by its beginning is that run everywhere, as `get_run` has it."""
RULED = {("approve_prompt_version", "comparisonId"), ("approve_prompt_version", "benchmarkIds")}
"""Refused by a hard rule, whose sentence names what is missing."""


def marks(tool: str) -> dict[str, Names]:
    """The arguments of a tool that name records."""
    given = CATALOGUE[tool].arguments.model_fields
    found = {to_camel(name): names_in(info.annotation, info.metadata) for name, info in given.items()}
    return {name: mark for name, mark in found.items() if mark is not None}


CALLS = [
    (tool, call, name)
    for tool, calls in GIVEN.items()
    for call in calls
    for name in call
    if name in marks(tool) and (tool, name) not in OF_RUNS | RULED
]


@pytest.fixture
async def host(tmp_path: Path) -> AsyncGenerator[Host]:
    """A host on a store with a record of each type, and a run of the benchmark."""
    case: Json = {"name": "r", "inputs": {"q": "r"}, "expectedOutputs": {"output": "yes"}, "promptId": WHOLE["prompt"]}
    other: Json = {**case, "inputs": {"q": "s"}}
    run: Json = {"agentId": "a", "inputs": {"q": "r"}, "outputs": {"output": "no"}}
    versions = [
        {"id": ident, "type": "prompt-version", "fields": {"content": ident, "versionNumber": number, "promptId": WHOLE["prompt"]}}
        for number, ident in enumerate((WHOLE["prompt-version"], "version-two"), 1)
    ]  # fmt: skip
    branches = [
        {"id": ident, "type": "test-branch", "fields": {"testCaseId": WHOLE["test-case"], "name": "b", "provider": "openai", "model": "m"}}
        for ident in (WHOLE["test-branch"], "branch/slow")
    ]  # fmt: skip
    async with hosted(config_in(tmp_path)) as found:
        await found.call(
            "save_records",
            records=[
                {"id": WHOLE["test-case"], "type": "test-case", "fields": case},
                {"id": WHOLE["agent-run"], "type": "agent-run", "fields": run},
                {"id": "other/case", "type": "test-case", "fields": other},
                {"id": "other/output", "type": "agent-run", "fields": {**run, "inputs": {"q": "s"}}},
                {"id": WHOLE["benchmark"], "type": "benchmark", "fields": {"name": "q", "testCaseIds": [WHOLE["test-case"], "other/case"]}},
                {"id": WHOLE["world"], "type": "world", "fields": {"name": "w", "servers": {"crm": {"tools": [{"name": "find"}]}}}},
                *versions, *branches,
            ],
        )  # fmt: skip
        await found.call("run_benchmark", benchmarkId=WHOLE["benchmark"], waitSeconds=50)
        yield found


def with_beginning(call: Json, name: str) -> tuple[Json, str, str]:
    """The call with the beginning of that argument's id, the beginning, and the whole id."""
    given = call[name]
    listed = given if isinstance(given, list) else [given]
    whole = str(listed[0])
    short = whole[:LONG]
    return {**call, name: [short, *listed[1:]] if isinstance(given, list) else short}, short, whole


@pytest.mark.parametrize(("tool", "call", "name"), CALLS)
async def test_an_id_by_its_beginning(host: Host, tool: str, call: Json, name: str) -> None:
    shortened, short, whole = with_beginning(call, name)
    before = (await host.call("list_records", type="run")).get("records", [])
    if CATALOGUE[tool].writes:
        refused = await host.refused(tool, **shortened)
        assert f"'{short}'" in refused, refused
        assert repr(whole) in refused, refused
    else:
        answer = await host.call(tool, **shortened)
        assert str(answer["summary"]).startswith(f"{short} read as {whole}. ")
        assert {**answer, "summary": ""} == {**(await host.call(tool, **call)), "summary": ""}
    assert (await host.call("list_records", type="run")).get("records", []) == before, "something was started"


def test_every_argument_that_names_records_is_tried() -> None:
    tried = {(tool, name) for tool, calls in GIVEN.items() for call in calls for name in call}
    named = {(tool, name) for tool in CATALOGUE for name in marks(tool)}
    assert named <= tried


ID_LIKE = ("Id", "Ids", "Ref", "version")
NO_RECORD = {
    "skillId": "a skill is no record that begins so", "fromAgentId": "an agent's own name", "agentId": "as fromAgentId",
    "runId": "a run: its beginning will do",
    "rejudgeRunId": "as runId", "compareRunId": "as runId", "runIds": "as runId", "subjectId": "not an argument",
}  # fmt: skip


def test_every_argument_that_looks_like_an_id_says_what_it_names() -> None:
    unmarked = {
        f"{tool}.{name}"
        for tool, entry in CATALOGUE.items()
        for name in map(to_camel, entry.arguments.model_fields)
        if name.endswith(ID_LIKE) and name not in marks(tool) and name not in NO_RECORD
    }
    assert unmarked == set()


@pytest.mark.parametrize(
    ("tool", "given", "whole"),
    [("detect_trend", "benchmarkId", WHOLE["benchmark"]), ("get_statistics", "testCaseId", "other/case")],
)
async def test_latest_is_the_newest_that_ran(host: Host, tool: str, given: str, whole: str) -> None:
    answer = await host.call(tool, **{given: "latest"})
    assert str(answer["summary"]).startswith(f"latest read as {whole}. ")


async def test_what_is_deleted_is_named_in_full(host: Host) -> None:
    refused = await host.refused("delete_record", id=WHOLE["test-case"][:LONG])
    assert "no record with the id" in refused
    assert repr(WHOLE["test-case"]) in refused
