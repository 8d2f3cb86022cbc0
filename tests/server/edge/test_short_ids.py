"""Ids of runs and units as answers write them, by the beginning of the run's: the tools take them back."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest
from mcp import Client

from minions_evals_mcp.engine.context import open_engine, uuid4
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.edge.compact import compacted, short_part, short_run
from minions_evals_mcp.server.session.opened import ServerSession
from tests.shared.server.hosts import EVERYTHING, Host, hosted, part, rows, suite
from tests.workshop import Json, config_in

UNIT = re.compile(r"[0-9a-f]{8}:1\.1")


@pytest.fixture
async def host(tmp_path: Path) -> AsyncGenerator[Host]:
    """A host whose runs have ids that nobody chose."""
    server = build_server(ServerSession(lambda: open_engine(config_in(tmp_path))), EVERYTHING)
    async with Client(server, mode="auto") as client:
        found = Host(client)
        await found.call("save_records", records=suite(3))
        yield found


async def test_a_unit_is_named_short_and_taken_so_by_reading_and_writing_tools(host: Host) -> None:
    done = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    unit = str(rows(done, "failures")[0]["testRunId"])
    assert UNIT.fullmatch(unit)
    assert f'get_record {{"id": "{unit}"}}' in cast("list[str]", done["next"])
    record = await host.call("get_record", id=unit)
    assert part(record, "record")["id"] == str(done["runId"]) + unit[8:]
    assert "read as" not in str(record["summary"])
    analysed = rows(await host.call("classify_failure", id=unit), "failures")[0]
    assert (analysed["testRunId"], analysed["id"]) == (unit, f"{unit}:failure")
    assert part(await host.call("get_record", id=f"{unit}:failure"), "record")["type"] == "eval-failure"
    assert (await host.call("promote_failure", id=unit))["sourceId"] == str(done["runId"]) + unit[8:]


async def test_a_run_is_read_by_its_short_id_and_stopped_by_its_whole_one_alone(host: Host) -> None:
    done = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    short = short_run(str(done["runId"]))
    assert len(short) == 8
    assert (await host.call("get_run", runId=short))["runId"] == done["runId"]
    other = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50, fresh=True)
    assert other["runId"] != done["runId"]
    assert "not-found" in await host.refused("classify_failure", id=f"{'0' * 8}:1.1")


def test_empty_parts_go_and_three_digits_stay() -> None:
    assert compacted({"a": None, "b": "", "c": [], "d": {"e": {}}, "f": 0, "g": False, "h": [0.123456, 1234.5678, 5e-8]}) == {
        "f": 0, "g": False, "h": [0.123, 1234.57, 5e-8],
    }  # fmt: skip
    whole = uuid4()
    assert short_part(f"{whole}:12.3", whole) == f"{whole[:8]}:12.3"
    assert short_part("nightly:12.3", "nightly") == "nightly:12.3"


async def test_cases_that_changed_alike_are_named_by_their_ids_with_their_titles_beside(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        records = cast("list[Json]", suite(12, bad=0))
        for record in records:
            if record["type"] == "test-case":
                record["title"] = f"Case {record['id']}"
        outputs = [
            {
                **record,
                "id": f"{record['id']}/{version}",
                "fields": {**part(record, "fields"), "promptVersionRef": version, "outputs": {"output": said}},
            }
            for version, said in (("v1", "bad"), ("v2", "good"))
            for record in records
            if record["type"] == "agent-run"
        ]  # fmt: skip
        versions = [
            {"id": f"v{number}", "type": "prompt-version", "fields": {"content": f"{number}", "versionNumber": number, "promptId": "p"}}
            for number in (1, 2)
        ]  # fmt: skip
        await host.call("save_records", records=[*versions, *records, *outputs])
        made = await host.call("compare_prompt_versions", benchmarkId="b", versionA="v1", versionB="v2", waitSeconds=50)
    (gained,) = rows(part(made, "comparison"), "better")
    idents = cast("list[str]", gained["testCaseIds"])
    assert set(idents) <= {f"c{number}" for number in range(12)}
    assert gained["titles"] == [f"Case {ident}" for ident in idents]
    assert (gained["scoreA"], gained["scoreB"], gained["flipped"]) == (0, 1, "gained")
