"""The table of tools: order, words, budget, schemas, and which of them an operator offers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from mcp_types import Tool

from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.edge.argument_types import LISTED
from minions_evals_mcp.server.options import ServerOptions, read_options
from tests.server.write_schemas import KEPT, made
from tests.shared.server.hosts import Host, hosted, tokens_in
from tests.workshop import Json, config_in

ROOT = Path(__file__).parents[2]
SNAPSHOT = Path(__file__).with_name("schemas.json")
PARTS = ("Use:", "Not:", "Costs:", "Errors:")
PLAIN = {
    "benchmarkId", "branchIds", "compareTable", "decision", "detail", "id", "iterations", "maxCostUsd", "packets",
    "maxSeconds", "promptVersionRef", "reason", "relations", "runId", "testCaseId", "testCaseIds", "tieThreshold", "trials", "triggeredBy",
    "type", "winnerCriteria", "rejudgeRunId", "world",
}  # fmt: skip
"""Arguments whose name, or their tool's description, says what they mean."""


def tokens(tool: Tool) -> int:
    """What the tool costs in every conversation."""
    schema = json.dumps(tool.input_schema, separators=(",", ":"), ensure_ascii=False)
    return sum(tokens_in(part) for part in (tool.name, tool.description or "", schema))


async def tools_of(host: Host) -> list[Tool]:
    return (await host.client.list_tools()).tools


async def test_tools_stand_in_the_fixed_order(host: Host) -> None:
    names = [tool.name for tool in await tools_of(host)]
    assert names == list(json.loads(SNAPSHOT.read_text("utf-8"))) == list(CATALOGUE)


async def test_the_whole_catalogue_costs_at_most_6000_tokens_and_a_tool_400(host: Host) -> None:
    costs = {tool.name: tokens(tool) for tool in await tools_of(host)}
    assert max(cost for name, cost in costs.items() if name != "save_records") <= 400, costs
    assert costs["save_records"] <= 500, "it says the shape of records in words"
    assert sum(costs.values()) <= 6000, costs


async def test_every_description_says_what_when_when_not_costs_and_errors(host: Host) -> None:
    for tool in await tools_of(host):
        lines = (tool.description or "").splitlines()
        assert len(lines) == 5, tool.name
        assert all(line.startswith(part) for line, part in zip(lines[1:], PARTS, strict=True)), tool.name


async def test_every_tool_closes_its_arguments_and_says_what_it_answers_and_may_do(host: Host) -> None:
    for tool in await tools_of(host):
        assert tool.input_schema["additionalProperties"] is False, tool.name
        assert tool.output_schema is not None, tool.name
        assert tool.output_schema["required"][0] == "summary", tool.name
        assert tool.annotations is not None
        hints = tool.annotations
        assert None not in {hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint}


async def test_every_argument_says_what_it_means_or_has_a_name_that_does(host: Host) -> None:
    for tool in await tools_of(host):
        for name, schema in tool.input_schema["properties"].items():
            assert name in PLAIN or {"description", "examples"} & schema.keys(), (tool.name, name)


async def test_every_example_is_an_argument_that_the_tool_takes(host: Host) -> None:
    shown = 0
    for tool in await tools_of(host):
        for name, schema in tool.input_schema["properties"].items():
            for example in schema.get("examples", ()):
                Draft202012Validator(schema).validate(example)
                if tool.name == "save_records":
                    assert (await host.call(tool.name, **{name: example}))["new"] == 2
                shown += 1
    assert shown >= 4


async def test_schemas_are_those_of_the_snapshot(host: Host) -> None:
    shown = {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in await tools_of(host)}
    kept = json.loads(SNAPSHOT.read_text())
    assert shown == kept, f"if it is meant to change: python -m tests.server.write_schemas writes {SNAPSHOT.name} anew"


def test_the_schemas_that_are_served_are_those_of_the_code() -> None:
    assert json.loads(KEPT.read_text("utf-8")) == made(), "python -m tests.server.write_schemas writes them anew"


def test_every_type_of_record_can_be_listed() -> None:
    assert set(LISTED) == {"run", "message", *TYPES}


async def test_read_only_hides_every_tool_that_writes_and_refuses_it_by_name(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path), options=ServerOptions(read_only=True)) as host:
        names = {tool.name for tool in await tools_of(host)}
        assert names == {name for name, entry in CATALOGUE.items() if not entry.writes}
        said = await host.refused("save_records", records=[])
        assert "read-only" in said
    assert "save_records" not in names


async def test_toolsets_and_tools_choose_what_is_offered(tmp_path: Path) -> None:
    options = read_options(["--toolsets", "records", "--tools", "get_run"])
    async with hosted(config_in(tmp_path), options=options) as host:
        names = [tool.name for tool in await tools_of(host)]
        assert names == [tool for tool, entry in CATALOGUE.items() if entry.toolset == "records" or tool == "get_run"]
        assert "operator does not offer it" in await host.refused("run_benchmark", benchmarkId="b")


@pytest.mark.parametrize(
    ("arguments", "near"), [(["--toolsets", "record"], "records"), (["--tools", "get_runs"], "get_run")]
)
def test_an_unknown_toolset_or_tool_is_refused_with_the_nearest(arguments: list[str], near: str) -> None:
    with pytest.raises(BadInputError, match=f"Did you mean {near}"):
        read_options(arguments)


async def test_an_unknown_tool_is_refused_with_the_nearest(host: Host) -> None:
    assert "did you mean run_benchmark?" in await host.refused("run_benchmarks")


async def test_a_verb_of_the_documents_is_refused_with_the_call_that_does_it(host: Host) -> None:
    """Every verb of the page, in the words of each interface, and those of prompt scoring."""
    schemas = {tool.name: tool.input_schema for tool in await tools_of(host)}
    page = (ROOT / "docs" / "reference" / "testing-api.md").read_text("utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ") and "`" in line]
    ticked = re.compile("`([^`]+)`")
    named = [(word, ticked.findall(row[3])[0]) for row in rows for cell in row[4:7] for word in ticked.findall(cell)]
    named = [(word, tool) for word, tool in named if word not in CATALOGUE]
    assert len(named) > 40
    for word, tool in [*named, ("compareVersions", "compare_prompt_versions"), ("max-score", "score_outputs")]:
        said = await host.refused(word)
        ((call, arguments),) = re.findall(r"; call (\w+) (\{.*\})\.$", said)
        assert call == tool, (word, said)
        assert not json.loads(arguments).keys() - schemas[call]["properties"].keys(), said


@pytest.mark.parametrize(
    "word", ["world name, state {}, servers", "rules: [{", "state {query, equals}", "effect {tool"]
)
def test_a_caller_who_has_only_the_descriptions_can_write_a_world_and_its_checks(word: str) -> None:
    save = json.loads(SNAPSHOT.read_text("utf-8"))["save_records"]
    assert word in json.dumps(save)


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        ("submit_judgments", {"runId": "r", "judgments": []}, "unknown argument 'judgments', did you mean 'packets'?"),
        ("classify_failure", {"runId": "r"}, "unknown argument 'runId', did you mean 'id'?"),
        ("get_record", {"recordId": "r"}, "unknown argument 'recordId', did you mean 'id'?"),
        ("run_benchmark", {"benchmark": "b"}, "unknown argument 'benchmark', did you mean 'benchmarkId'?"),
        ("list_records", {}, "type is missing (one of run, message, test-case"),
        ("audit", {}, "did you mean audit_benchmark?"),
        ("classify", {}, "did you mean classify_failure?"),
        ("trend", {}, "did you mean detect_trend?"),
    ],
)
async def test_a_wrong_name_is_answered_with_the_one_that_was_meant(
    host: Host, tool: str, arguments: Json, hint: str
) -> None:
    assert hint in await host.refused(tool, **arguments)
