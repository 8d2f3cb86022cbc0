"""The trend read for a decision: direction, reason, breaks of the series, regressions."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.engine.answers.trend_summary import TrendSummary, summarize_trend
from minions_evals_mcp.engine.cases.test_history import test_case_stats as stats_of_case
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError
from tests.bench.figures.history import built
from tests.shared.presentation.typed import typed
from tests.workshop import answer, bench, case, config_in, first, fleet, opened, save


async def run_of(engine: Engine, number: int, passing: int, size: int = 10, version: str | None = None) -> None:
    """One more run of `b`, of a version of its own where none is given."""
    version = version or f"v{number}"
    await save(
        engine,
        [
            answer(f"v{number}/{n}", f"c{n}", "good" if good else "bad", promptVersionRef=version)
            for n, good in enumerate(first(passing, size))
        ],
    )
    await bench(engine, "b", prompt_version_ref=version)


async def history(engine: Engine, *passing: int) -> TrendSummary:
    await fleet(engine, 10)
    for number, passed in enumerate(passing):
        await run_of(engine, number, passed)
    return await summarize_trend(engine, "b")


async def test_the_direction_comes_with_its_slope_interval_and_reason(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        found = await history(engine, 10, 9, 8, 6, 5)
        assert (found.direction, found.provisional, found.series_length) == ("degrading", False, 5)
        assert found.slope is not None
        assert found.slope_interval is not None
        assert found.slope == pytest.approx(-0.129166, abs=1e-6)
        assert found.slope_interval[0] < found.slope < found.slope_interval[1] < 0
        assert found.reason.startswith("the last 5 scores move by -0.129 a run")
        assert [point.is_regression for point in found.points] == [False, False, False, True, False]


async def test_three_degrading_in_a_row_are_counted(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        found = await history(engine, 10, 10, 9, 8, 7, 6, 5)
        assert found.consecutive_degrading == 3


async def test_a_changed_case_starts_a_new_series_and_the_old_points_stay(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await history(engine, 10, 9, 8)
        await save(engine, case("c0", expectedOutputs={"output": "goo"}))
        await run_of(engine, 7, 7)
        found = await summarize_trend(engine, "b")
        assert (found.series_length, found.earlier_series, found.direction) == (1, 1, None)
        assert [point.new_series for point in found.points] == [False, False, False, True]
        read = [None, None, "degrading", None]  # of fewer than three runs no direction is read
        assert [point.direction for point in found.points] == read
        assert [point.direction for point in (await summarize_trend(engine, "b", limit=2)).points] == read[2:]
        assert "direction" not in found.points[-1].model_dump(mode="json")
        assert len((await summarize_trend(engine, "b", limit=2)).points) == 2


async def test_a_step_is_marked_as_a_new_level_from_twelve_points_on(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        found = await history(engine, *[10, 9] * 4, *[3, 2] * 4)
        assert len(found.change_points) == 1
        assert [point.score for point in found.points if point.change_point] == [0.3]


async def test_a_fall_two_runs_ago_is_no_level_that_began_before_it(tmp_path: Path) -> None:
    passing = [27, 26, 27, 25, 26, 28, 27, 26, 24, 6, 5, 6]
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 30)
        for number, passed in enumerate(passing[:-1]):
            await run_of(engine, number, passed, 30, "same")
        assert (await summarize_trend(engine, "b")).change_points == []
        await run_of(engine, 11, passing[-1], 30, "same")
        found = await summarize_trend(engine, "b")
        assert [place for place, point in enumerate(found.points) if point.change_point] == [9]


async def test_two_first_runs_on_another_level_are_no_level_that_lasted_three(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 30)
        for number, passed in enumerate([3, 4, 27, 26, 27, 25, 26, 28]):
            await run_of(engine, number, passed, 30, "same")
        assert (await summarize_trend(engine, "b")).change_points == []


async def test_a_benchmark_that_never_ran_is_named(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        with pytest.raises(NotFoundError, match="no run of the benchmark") as refused:
            await summarize_trend(engine, "b")
        assert typed(refused.value.remedy_text) == "`minions-evals run-benchmark b` makes one."
        with pytest.raises(NotFoundError, match="no benchmark with the id 'x'"):
            await summarize_trend(engine, "x")


async def test_a_level_that_came_and_went_is_two_and_both_stay_when_more_runs_come(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 10)
        number = 0
        for level in ([10, 9] * 4, [2, 3] * 4, [9, 10] * 5):
            for passing in level:
                await run_of(engine, number, passing)
                number += 1
        found = await summarize_trend(engine, "b", limit=100)
        places = [place for place, point in enumerate(found.points) if point.change_point]
        assert len(places) == 2
        assert all(abs(place - began) <= 1 for place, began in zip(places, (8, 16), strict=True))
        for _ in range(6):
            await run_of(engine, number, 10 - number % 2)
            number += 1
        later = await summarize_trend(engine, "b", limit=100)
        assert set(found.change_points) <= set(later.change_points)


async def test_a_history_that_was_kept_without_readings_is_read_alike(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        kept = await history(engine, 10, 10, 9, 8, 7, 6, 5)
        await engine.store.write(lambda db: db.execute("DELETE FROM trend_reading"))
        assert await summarize_trend(engine, "b") == kept


async def test_a_long_history_in_a_great_store_is_counted_as_it_is(tmp_path: Path) -> None:
    await built(tmp_path, 3_000)
    async with opened(config_in(tmp_path)) as engine:
        found = await summarize_trend(engine, "b")
        assert (found.series_length, found.earlier_series, len(found.points)) == (1_001, 0, 20)
        assert (await stats_of_case(engine, "c1")).total_runs == 4
