"""The page of costs: day by day, by benchmark, beside the days before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from minions_evals_mcp.engine.answers.pages.costs_page import read_costs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.report.charts.bars import daily
from tests.shared.view.visitor import visitor
from tests.workshop import answer, bench, benchmark, case, config_in, opened, save

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)


async def ran(engine: Engine, name: str, at: datetime, cost: float | None, *, key: str) -> None:
    """A run of the benchmark of that name, whose one output cost that."""
    engine.clock = lambda: at
    told = {} if cost is None else {"cost": cost}
    ident = f"{name}/{key}"
    asked = case(ident, expectedOutputs={"output": "good"}, inputs={"question": ident})
    await save(engine, asked, answer(f"{ident}/a", ident, "good", inputs={"question": ident}, **told))
    await save(engine, benchmark(name, ident, name=f"Suite {name}"))
    await bench(engine, name, key=key, fresh=True)


async def test_costs_are_told_by_day_and_by_what_was_run_beside_the_days_before(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await ran(engine, "dear", NOW - timedelta(days=20), 0.5, key="k1")
        await ran(engine, "dear", NOW - timedelta(days=13), 2.0, key="k2")
        await ran(engine, "dear", NOW, 4.0, key="k3")
        await ran(engine, "cheap", NOW, 1.0, key="k4")
        await ran(engine, "dark", NOW, None, key="k5")
        await ran(engine, "dear", NOW - timedelta(days=40), 9.0, key="k0")
        engine.clock = lambda: NOW
        page = await read_costs(engine, 14)
        assert (page.usd, page.before_usd, page.runs, page.unknown) == (7.0, 0.5, 4, 1)
        assert [(one.day.day, one.usd, one.runs) for one in page.days if one.runs] == [(7, 2.0, 1), (20, 5.0, 3)]
        assert len(page.days) == 14
        told = [(one.title, one.usd, one.before_usd, one.each_usd) for one in page.subjects]
        assert told == [("Suite dear", 6.0, 0.5, 3.0), ("Suite cheap", 1.0, 0.0, 1.0), ("Suite dark", 0.0, 0.0, None)]
        assert (await read_costs(engine, 90)).usd == 16.5
        async with visitor(engine) as client:
            shown = (await client.get("/costs")).text
            assert (
                "4 runs in 14 days cost $7.00, after $0.500 in the 14 days before; 86 % of it for Suite dear." in shown
            )
            assert "of 1 run no cost is known" in shown
            assert "6 runs in 90 days cost $16.50" in (await client.get("/costs?days=90")).text
            assert (await client.get("/costs?days=7000000")).status_code == 200


async def test_of_runs_without_a_known_cost_none_is_stated(engine: Engine) -> None:
    await ran(engine, "dark", NOW, None, key="k1")
    async with visitor(engine) as client:
        shown = (await client.get("/costs")).text
    assert "No cost is known of the run in 14 days." in shown
    assert "Day by day" not in shown


async def test_a_store_without_runs_has_a_page_of_costs(engine: Engine) -> None:
    async with visitor(engine) as client:
        shown = (await client.get("/costs")).text
    assert "0 runs in 14 days cost $0." in shown
    assert "Nothing ran in these days." in shown


def test_bars_stand_under_a_round_number() -> None:
    drawn = daily(
        [(NOW.date() - timedelta(days=back), cost) for back, cost in ((2, 0.031), (1, 0.0), (0, 0.012))], label="costs"
    )
    assert "$0.05" in drawn
    assert drawn.count("<rect") == 2
    assert daily([], label="nothing").count("<rect") == 0
