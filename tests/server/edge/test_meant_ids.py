"""Reading tools take an id by its beginning, and `latest`, and name the id that they read; writing tools take it exactly."""

from __future__ import annotations

import pytest

from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.edge.meant import EVERYWHERE, OF_TOOL
from tests.shared.server.hosts import Host
from tests.workshop import Json


@pytest.mark.parametrize(
    ("tool", "arguments", "whole"),
    [
        ("detect_trend", {"benchmarkId": "latest"}, "quality"),
        ("detect_trend", {"benchmarkId": "qualit"}, "quality"),
        ("get_statistics", {"testCaseId": "latest"}, "refund"),
        ("get_record", {"id": "qualit"}, "quality"),
    ],
)
async def test_a_reading_tool_takes_the_beginning_of_an_id_or_latest(
    host: Host, tool: str, arguments: Json, whole: str
) -> None:
    await host.call(
        "save_records",
        records=[
            {"id": "refund", "type": "test-case", "fields": {"name": "r", "inputs": {"q": "r"}, "expectedOutputs": {"output": "yes"}}},
            {"id": "a-refund", "type": "agent-run", "fields": {"agentId": "a", "inputs": {"q": "r"}, "outputs": {"output": "yes"}}},
            {"id": "quality", "type": "benchmark", "fields": {"name": "quality", "testCaseIds": ["refund"]}},
        ],
    )  # fmt: skip
    await host.call("run_benchmark", benchmarkId="quality", waitSeconds=50)
    answer = await host.call(tool, **arguments)
    assert f'"{whole}"' in str(answer).replace("'", '"')
    (given,) = arguments.values()
    assert str(answer["summary"]).startswith(f"{given} read as {whole}. ")


@pytest.mark.parametrize("name", sorted(name for name, entry in CATALOGUE.items() if entry.writes))
async def test_a_writing_tool_is_refused_the_beginning_of_an_id_with_the_id(host: Host, name: str) -> None:
    """Nothing is started under an id that nobody wrote."""
    fields = {**EVERYWHERE, **OF_TOOL.get(name, {})}
    arguments = CATALOGUE[name].arguments
    named = [field for field in fields if field in arguments.model_fields]
    await host.call(
        "save_records",
        records=[
            {"id": "refunds", "type": "test-case", "fields": {"name": "r", "expectedOutputs": {"output": "yes"}}},
            {"id": "quality", "type": "benchmark", "fields": {"name": "quality", "testCaseIds": ["refunds"]}},
            {"id": "v", "type": "prompt-version", "fields": {"content": "c", "versionNumber": 1, "promptId": "p"}},
            {"id": "w", "type": "prompt-version", "fields": {"content": "d", "versionNumber": 2, "promptId": "p"}},
        ],
        relations=[{"sourceId": "w", "targetId": "v"}],
    )
    beginnings = {
        "benchmark_id": ("benchmarkId", "qualit", "quality"),
        "test_case_id": ("testCaseId", "refund", "refunds"),
    }
    for field in named:
        if field not in beginnings or name == "run_ab_test":
            continue
        wire, given, whole = beginnings[field]
        more: Json = {"versionA": "a", "versionB": "b"} if name == "compare_prompt_versions" else {}
        more = {"version": "w", "against": "v"} if name == "try_version" else more
        refused = await host.refused(name, **{wire: given, **more})
        assert f"'{given}'" in refused, refused
        assert f"did you mean {whole!r}?" in refused, refused
    runs = await host.call("list_records", type="run")
    assert runs.get("records", []) == []


async def test_what_is_deleted_is_named_in_full(host: Host) -> None:
    case: Json = {"name": "r", "inputs": {"q": "r"}, "expectedOutputs": {"output": "yes"}}
    await host.call("save_records", records=[{"id": "refunds", "type": "test-case", "fields": case}])
    assert "no record with the id 'refund'" in await host.refused("delete_record", id="refund")
