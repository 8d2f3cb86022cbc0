"""The ratchet: what it calls worse, what it keeps, and that its suite is judged as its floor judges it."""

from __future__ import annotations

import json
from pathlib import Path

from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import save_records
from minions_evals_mcp.interop.suite import read_suite
from tests.bench.bare.recorded import judged
from tests.bench.ratchet import MEASUREMENTS, RULE, Figure, keep, kept_figures, suite, worse
from tests.workshop import all_of, bench


def figure(ratio: float) -> Figure:
    return Figure(ratio, 10.0, 1.0, 0.1, 50.0)


def test_only_a_figure_that_rose_by_more_than_a_tenth_got_worse() -> None:
    kept = {"import": figure(8.0), "score": figure(2.0)}
    now = {"import": figure(8.7), "score": figure(2.3), "new": figure(99.0)}
    assert worse(now, kept) == ["score: 2.30, 2.00 was kept"]


def test_figures_are_kept_beside_those_that_were_not_measured(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    assert kept_figures(file) == {}
    keep({"import": figure(8.0), "score": figure(2.0)}, file)
    keep({"score": figure(1.5)}, file)
    assert kept_figures(file) == {"import": figure(8.0), "score": figure(1.5)}
    assert list(json.loads(file.read_text())) == ["import", "score"]


def test_every_measurement_says_what_it_measures() -> None:
    assert all(one.__doc__ for one in MEASUREMENTS.values())


async def test_the_engine_judges_the_suite_as_the_floor_does(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "suite.jsonl"
    file.write_text(suite(30, guide=RULE))
    arrivals, relations = read_suite(file, new_id=engine.new_id, now=engine.clock())
    await save_records(engine, arrivals, relations)
    await bench(engine, "b")
    found = [run.fields.passed for run in await all_of(engine, TestRun)]
    assert found == [bool(rows["judgment"][0][2]) for rows in judged(str(file))]
    assert {*found} == {True, False}
