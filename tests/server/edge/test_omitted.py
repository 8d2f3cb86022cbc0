"""Null, an empty text and an empty list leave an option out, at every tool and in every record; a misspelt option is refused."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import cast

import anyio
import pytest
from mcp import Client, stdio_client
from mcp_types import CallToolResult
from pydantic import JsonValue

from minions_evals_mcp.domain.records import IMPORTABLE, TYPES
from minions_evals_mcp.server.catalogue import CATALOGUE
from tests.hang import HANG_S
from tests.shared.server.hosts import Host, suite, text_of
from tests.shared.server.wire import forked
from tests.workshop import Json

LEAST: dict[str, Json] = {
    "run_test_case": {"testCaseId": "c0"},
    "run_benchmark": {"benchmarkId": "b"},
    "compare_prompt_versions": {"benchmarkId": "b", "versionA": "v1", "versionB": "v2"},
    "try_version": {"benchmarkId": "b", "version": "v2", "waitSeconds": 1},
    "classify_failure": {"id": "k"},
    "promote_failure": {"id": "a-c0"},
    "suite_from_traces": {"agentId": "agent"},
    "suite_from_prompt": {"documents": [{"name": "d", "text": "Answer."}]},
    "detect_trend": {"benchmarkId": "b"},
    "audit_benchmark": {"benchmarkId": "b"},
    "plan_benchmark": {"benchmarkId": "b"},
    "get_run": {"runId": "k"},
    "cancel_run": {"runId": "k"},
    "submit_judgments": {
        "runId": "k",
        "packets": [{"digest": "d", "judgments": [{"criterionId": "r", "score": 1, "rationale": "It is kind."}]}],
    },
    "label_user": {"runId": "k", "sound": ["c0"], "reason": "It did."},
    "run_ab_test": {"testCaseId": "c0", "branchIds": ["x1", "x2"]},
    "get_statistics": {"testCaseId": "c0"},
    "score_outputs": {"rows": [{"output": "a", "assert": [{"type": "equals", "value": "a"}]}]},
    "list_records": {"type": "benchmark"},
    "get_record": {"id": "b"},
    "save_records": {"records": [{"id": "c0", "type": "test-case", "fields": {"name": "c0"}}], "merge": True},
    "approve_prompt_version": {"promptVersionRef": "v2"},
    "send_message": {"type": "run-benchmark", "payload": {"benchmarkId": "b"}, "id": "m1"},
    "delete_record": {"id": "unused"},
}
"""A call of each tool with as little as it takes."""
NEEDED: dict[str, Json] = {
    "world": {"name": "n", "servers": {"s": {"tools": [{"name": "t"}]}}},
    "test-case": {"name": "n"},
    "rubric": {"name": "n", "passingThreshold": 1, "criteriaIds": ["own/tone"]},
    "rubric-criterion": {"rubricId": "own", "name": "n"},
    "benchmark": {"name": "n", "testCaseIds": ["c0"]},
    "test-branch": {"testCaseId": "c0", "name": "n", "provider": "anthropic", "model": "m"},
    "agent-run": {"agentId": "a", "outputs": {"output": "x"}},
    "prompt-version": {"content": "c", "versionNumber": 1},
    "skill-definition": {"name": "n"},
    "proposal-draft": {"title": "t", "content": "c", "agentRunId": "a-c0"},
}
"""The fields that a record of each type must have."""


def test_every_tool_has_a_least_call() -> None:
    assert list(LEAST) == list(CATALOGUE)


def options(schema: Json, given: Json) -> dict[str, Json]:
    """The tool's optional arguments that the call leaves out."""
    properties = cast("dict[str, Json]", schema["properties"])
    return {name: part for name, part in properties.items() if name not in given}


def filler(part: Json) -> JsonValue:
    """What a strict schema makes a model write for an option that it does not use."""
    kind = part.get("type")
    nothing: dict[JsonValue, JsonValue] = {"string": "", "array": [], "boolean": False, "integer": None, "number": None}
    return part.get("default", 0 if kind in {"integer", "number"} and part.get("minimum") == 0 else nothing.get(kind))


def worded(result: CallToolResult) -> str:
    return text_of(result)


async def test_a_call_with_every_option_omitted_in_any_way_is_the_call_without_them(tmp_path: Path) -> None:
    """Read-only tools answer the same; what writes is refused for no argument."""
    with anyio.fail_after(HANG_S * 2):
        async with Client(stdio_client(forked(tmp_path))) as client:
            host = Host(client)
            await host.call("save_records", records=suite(2))
            await host.call("run_benchmark", benchmarkId="b", waitSeconds=50, idempotencyKey="k")
            for tool in (await client.list_tools()).tools:
                least = LEAST[tool.name]
                omitted = options(cast("Json", tool.input_schema), least)
                empties: list[Json] = [
                    dict[str, JsonValue].fromkeys(omitted),
                    {name: filler(part) for name, part in omitted.items()},
                    {name: "" if part.get("type") == "string" else None for name, part in omitted.items()},
                ]
                plain = await host.raw(tool.name, **least)
                assert "bad-arguments" not in worded(plain), worded(plain)
                for empty in empties:
                    found = await host.raw(tool.name, **{**least, **empty})
                    assert "bad-arguments" not in worded(found), (tool.name, empty, worded(found))
                    assert found.is_error == plain.is_error, (tool.name, worded(plain), worded(found))
                    if not CATALOGUE[tool.name].writes:
                        assert worded(found) == worded(plain), tool.name


@pytest.mark.parametrize("name", CATALOGUE)
def test_omitted_options_make_the_same_request(name: str) -> None:
    arguments = CATALOGUE[name].arguments
    least = LEAST[name]
    plain = arguments.model_validate(least)
    for alias, info in ((str(info.alias), info) for info in arguments.model_fields.values()):
        empties: list[JsonValue] = [None, "", []]
        for empty in empties:
            if not info.is_required() and alias not in least:
                assert arguments.model_validate({**least, alias: empty}) == plain, (alias, empty)


async def test_each_misspelt_option_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S * 2):
        async with Client(stdio_client(forked(tmp_path))) as client:
            for tool in (await client.list_tools()).tools:
                known = cast("Json", tool.input_schema["properties"])
                for name in known:
                    wrong = name[:-2] + name[-1] + name[-2] if name[-1] != name[-2] else name + "x"
                    if wrong in known:
                        continue
                    found = await Host(client).refused(tool.name, **{**LEAST[tool.name], wrong: None})
                    meant = difflib.get_close_matches(wrong, known, 1, 0.5)
                    assert f"unknown argument {wrong!r}" in found, found
                    assert not meant or f"did you mean {meant[0]!r}?" in found, found
                    assert "Nothing has run" in found


@pytest.mark.parametrize("slug", IMPORTABLE)
async def test_a_record_whose_optional_fields_are_null_is_the_record_without_them(tmp_path: Path, slug: str) -> None:
    """A field that takes an empty value keeps it: an empty tool log is a log without calls."""
    kind = TYPES[slug]
    needed: Json = NEEDED[slug]
    empty: Json = {str(info.alias): None for info in kind.model_fields.values() if str(info.alias) not in needed}
    around: Json = {"title": "", "tags": None, "createdBy": None, "status": ""}
    beside: list[JsonValue] = [*suite(1)]
    if slug == "rubric":
        beside.append({"id": "own/tone", "type": "rubric-criterion", "fields": {"rubricId": "x", "name": "t"}})
    if slug == "rubric-criterion":
        beside.append(
            {"id": "own", "type": "rubric", "fields": {"name": "n", "passingThreshold": 1, "criteriaIds": ["x"]}}
        )
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path))) as client:
            host = Host(client)
            plain: Json = {"id": "x", "type": slug, "fields": needed}
            await host.call("save_records", records=[*beside, plain])
            filled: Json = {**plain, **around, "fields": {**needed, **empty}}
            saved = await host.call("save_records", records=[filled])
            assert (saved["new"], saved["changed"], saved["unchanged"]) == (0, 0, 1), saved
