"""A read or run of an id that is not there names those of its type that are near."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.shared.server.hosts import Host, suite
from tests.workshop import Json

SLIPS: list[tuple[str, Json, str]] = [
    ("run_test_case", {"testCaseId": "refnd"}, "refund"),
    ("run_test_case", {"testCaseId": "refnd", "dryRun": True}, "refund"),
    ("run_benchmark", {"benchmarkId": "qualty"}, "quality"),
    ("run_benchmark", {"benchmarkId": "quality", "rejudgeRunId": "nighly"}, "nightly"),
    ("compare_prompt_versions", {"runIds": ["nighly", "nightly"]}, "nightly"),
    ("detect_trend", {"benchmarkId": "qualiti"}, "quality"),
    ("get_run", {"runId": "nighly"}, "nightly"),
    ("cancel_run", {"runId": "nighty"}, "nightly"),
    ("get_statistics", {"testCaseId": "refnd"}, "refund"),
    ("get_record", {"id": "a-refnd"}, "a-refund"),
    ("delete_record", {"id": "qualiti"}, "quality"),
]


async def _shop(host: Host) -> None:
    records = suite(1, bad=0)
    case, run, benchmark = records
    assert isinstance(case, dict)
    assert isinstance(run, dict)
    assert isinstance(benchmark, dict)
    named: list[Any] = [
        {**case, "id": "refund"},
        {**run, "id": "a-refund"},
        {"id": "quality", "type": "benchmark", "fields": {"name": "quality", "testCaseIds": ["refund"]}},
    ]
    await host.call("save_records", records=named)
    await host.call("run_benchmark", benchmarkId="quality", idempotencyKey="nightly", waitSeconds=50)


async def test_every_tool_that_is_given_an_id_names_the_near_ones(host: Host) -> None:
    await _shop(host)
    for tool, asked, near in SLIPS:
        said = await host.refused(tool, **asked)
        assert said.startswith("not-found: "), said
        assert f"did you mean {near!r}" in said, (tool, said)


async def test_an_id_that_is_like_no_other_is_refused_as_it_is(host: Host) -> None:
    await _shop(host)
    said = await host.refused("run_test_case", testCaseId="weather/tomorrow")
    assert "no test-case with the id 'weather/tomorrow'." in said
    assert "did you mean" not in said
    assert 'list_records {"type": "test-case"}' in said


async def test_a_resource_names_them_too(host: Host) -> None:
    await _shop(host)
    with pytest.raises(MCPError, match="did you mean 'refund'"):
        await host.client.read_resource("evals://test-case/refnd")


async def test_a_run_is_rejudged_under_its_key_as_under_its_id(host: Host) -> None:
    await _shop(host)
    named = await host.call("run_benchmark", benchmarkId="quality", rejudgeRunId="nightly", waitSeconds=50)
    assert str(named["summary"]).startswith("benchmark quality: completed; 1 of 1 passed")
    nightly = await host.call("get_run", runId="nightly")
    both: Json = {"benchmarkId": "quality", "idempotencyKey": "again", "waitSeconds": 50}
    first = await host.call("run_benchmark", **both, rejudgeRunId="nightly")
    again = await host.call("run_benchmark", **both, rejudgeRunId=nightly["runId"])
    assert first["runId"] == again["runId"]
