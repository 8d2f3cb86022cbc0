"""The run that a run is compared with: one run and one verdict for the gate, lists, pages, reports, trends and answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import pytest

from minions_evals_mcp.engine.answers.overview import read_overview
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading
from minions_evals_mcp.engine.answers.report_data import find_subject, read_report
from minions_evals_mcp.engine.answers.run_changes import changes_beside
from minions_evals_mcp.engine.answers.run_head import read_run_head
from minions_evals_mcp.engine.answers.run_outline import read_run_outline
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.answers.trend_summary import summarize_trend
from minions_evals_mcp.engine.context import Engine
from tests.workshop import Json, answer, bench, case, config_in, fleet, minion, opened, save

ASKED, MAPPED = "python:tests.workshop:echoed", "python:tests.workshop:mapped"
SIZE = 8
RECORDED: Json = {}
VERSION: Json = {"prompt_version_ref": "v1"}
STARTS: dict[str, list[Json]] = {
    "another target": [{"target": ASKED}, {"target": MAPPED}],
    "targets that take turns": [{"target": ASKED}, {"target": MAPPED}, {"target": ASKED}],
    "a target after recorded outputs": [RECORDED, {"target": ASKED}],
    "a version after none": [RECORDED, VERSION],
    "the same again": [{"target": ASKED}, {"target": ASKED}],
}
COMPARED = {"targets that take turns": 0, "the same again": 0}
"""The run that the last one is compared with; the others are compared with none."""


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with opened(config_in(tmp_path)) as engine:
        yield engine


async def started(engine: Engine, requests: list[Json]) -> list[str]:
    """Those runs; the fleet's cases pass with the words of `echoed`, recorded or not."""
    await fleet(engine, SIZE)
    await save(
        engine,
        [minion("v1", "prompt-version", content="Say it.", versionNumber=1, promptId="p")],
        [case(f"c{n}", inputs={"q": f"c{n}"}, expectedOutputs={"output": f"asked: c{n}"}) for n in range(SIZE)],
        [answer(f"bare{n}", f"c{n}", f"asked: c{n}") for n in range(SIZE)],
    )
    return [await ran(engine, request) for request in requests]


async def ran(engine: Engine, request: Json) -> str:
    if request == VERSION:
        await save(engine, [answer(f"v1/{n}", f"c{n}", f"asked: c{n}", promptVersionRef="v1") for n in range(SIZE)])
    return (await bench(engine, "b", fresh=True, **request)).id


async def readings(engine: Engine, run_id: str) -> dict[str, PairReading | None]:
    """What each place says of the run beside the one before it."""
    head, report = await read_run_head(engine, run_id), await read_report(engine, await find_subject(engine, run_id))
    (row,) = (await read_overview(engine, skip=0, limit=2)).rows
    assert row.standing is not None
    return {
        "list": (await engine.store.read(partial(changes_beside, asked=[run_id]))).get(run_id),
        "answer": (await summarize(engine, run_id)).change,
        "page": None if head.before is None else head.before.reading,
        "report": None if report.since is None else report.since.reading,
        "trend": (await summarize_trend(engine, "b")).change,
        "overview": row.standing.change,
    }


@pytest.mark.parametrize("name", STARTS)
async def test_each_place_compares_a_run_with_the_one_that_its_gate_does(engine: Engine, name: str) -> None:
    began = await started(engine, STARTS[name])
    fields = (await summarize(engine, began[-1])).benchmark_run
    assert fields is not None
    found = await readings(engine, began[-1])
    places = set(found.values())
    assert len(places) == 1, found
    (reading,) = places
    assert reading is not None
    if name not in COMPARED:
        assert (reading.before, reading.verdict) == (began[-2], None)
        assert reading.why
        assert str(fields["notCompared"]).endswith(reading.why)
        return
    before = began[COMPARED[name]]
    assert "notCompared" not in fields
    assert (reading.before, reading.verdict, reading.delta, reading.worse) == (before, "inconclusive", 0.0, 0)
    assert (await read_run_outline(engine, began[-1], tags=1)).before == before
