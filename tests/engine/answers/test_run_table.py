"""A benchmark-run as a table."""

from __future__ import annotations

import pytest

from minions_evals_mcp.engine.answers.run_table import PAGE, run_rows
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import find_benchmark_run
from minions_evals_mcp.errors import NotFoundError
from tests.workshop import answer, bench, benchmark, by_rule, case, first, fleet, measured, rubric, save, says


async def test_a_run_longer_than_a_page_is_read_whole_and_in_order(engine: Engine) -> None:
    size = PAGE + 3
    await fleet(engine, size)
    await measured(engine, "v1", first(2, size), key="long")
    run_id = await find_benchmark_run(engine, "long")
    rows = [row async for row in run_rows(engine, run_id)]
    assert sorted(str(row["testCase"]) for row in rows) == sorted(f"c{number}" for number in range(size))
    assert sum(row["passed"] is True for row in rows) == 2
    assert list(rows[0]) == ["testCase", "latency", "cost", "passed", "score"]


async def test_criteria_are_columns_by_name_and_by_id_where_the_name_is_taken(engine: Engine) -> None:
    kind, twin = says("kind", name="Kind"), says("good", name="Twin")
    own = by_rule("[{type: contains, value: good}]", name="passed", maxScore=4)
    await save(
        engine,
        rubric("r", 1, a=kind, b=twin, c={**twin}, d=own),
        case("c", rubricId="r"),
        case("plain", expectedOutputs={"output": "good"}),
        answer("x", "c", "good"),
        answer("y", "plain", "good"),
        benchmark("b", "c", "plain"),
    )
    job = await bench(engine, "b")
    rows = {row["testCase"]: row async for row in run_rows(engine, job.id)}
    assert rows["c"] == {
        "testCase": "c", "Kind": 0.0, "r/b": 1.0, "r/c": 1.0, "r/d": 4.0,
        "latency": None, "cost": None, "passed": True, "score": 6 / 7,
    }  # fmt: skip
    assert rows["plain"]["score"] == 1.0
    assert "Kind" not in rows["plain"]


async def test_what_is_no_benchmark_run_is_not_found(engine: Engine) -> None:
    for ident in ("nothing", "job1"):
        with pytest.raises(NotFoundError):
            await find_benchmark_run(engine, ident)
