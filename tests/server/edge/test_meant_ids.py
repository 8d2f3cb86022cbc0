"""Tools take an id by its beginning, and `latest`; what is kept and answered is the whole id."""

from __future__ import annotations

import pytest

from tests.shared.server.hosts import Host
from tests.workshop import Json


@pytest.mark.parametrize(
    ("tool", "arguments", "whole"),
    [
        ("detect_trend", {"benchmarkId": "latest"}, "quality"),
        ("detect_trend", {"benchmarkId": "qualit"}, "quality"),
        ("get_statistics", {"testCaseId": "latest"}, "refund"),
        ("get_record", {"id": "qualit"}, "quality"),
        ("run_benchmark", {"benchmarkId": "qualit", "waitSeconds": 50}, "quality"),
        ("audit_benchmark", {"benchmarkId": "latest"}, "quality"),
    ],
)
async def test_a_tool_takes_the_beginning_of_an_id_or_latest(
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


async def test_what_is_deleted_is_named_in_full(host: Host) -> None:
    case: Json = {"name": "r", "inputs": {"q": "r"}, "expectedOutputs": {"output": "yes"}}
    await host.call("save_records", records=[{"id": "refunds", "type": "test-case", "fields": case}])
    assert "no record with the id 'refund'" in await host.refused("delete_record", id="refund")
