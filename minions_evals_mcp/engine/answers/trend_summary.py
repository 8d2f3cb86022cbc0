"""The direction of a benchmark, read for a decision: the direction and why, its slope, its breaks and its regressions."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.results import Direction, EvalTrend, Evidence
from minions_evals_mcp.domain.values import Value, iso
from minions_evals_mcp.engine.answers.readings.benchmark_levels import Levels, LevelStart, read_levels
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading, read_beside
from minions_evals_mcp.engine.conclude.detect_trend import directions_of, trend_id
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.skills import DetectTrendParameters
from minions_evals_mcp.stats.series.mann_kendall import slope_interval
from minions_evals_mcp.stats.series.trend import SMALLEST_WINDOW, read_trend
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import trend_points
from minions_evals_mcp.store.queries.report_units import newest_run
from minions_evals_mcp.store.queries.trend_points import SeriesRun

Read = Annotated[Direction | None, Field(exclude_if=lambda direction: direction is None)]
"""The direction of a series; absent where it has fewer runs than a direction needs."""


class TrendPoint(Value):
    """One benchmark-run in the history; `direction` is the reading when it was the newest of its series."""

    run_id: str
    at: str
    score: float
    direction: Read
    is_regression: bool
    new_series: bool
    change_point: bool
    version: str | None = None
    cost_usd: float | None = None
    judged_by: Annotated[tuple[str, ...], Field(exclude_if=lambda judges: not judges)] = ()
    evidence: Annotated[Evidence | None, Field(exclude_if=lambda evidence: evidence is None)] = None


class TrendSummary(Value):
    """A benchmark's newest series. `slope` is score per run over the window, its interval at least 95 %.

    A changed rubric, judge, scorer, embedder or case set starts a new series; `earlierSeries` counts those before.
    `judgedBy`: who judged the series, where it was not the benchmark's own judge.
    """

    benchmark_id: str
    dimension: str
    direction: Read
    reason: str
    slope: float | None
    slope_interval: tuple[float, float] | None
    p_value: float | None
    volatile: bool
    provisional: bool
    consecutive_degrading: int
    window: int
    change_points: list[str]
    level_change: LevelStart | None = None
    series_length: int
    earlier_series: int
    change: PairReading | None = None
    points: list[TrendPoint]
    judged_by: Annotated[tuple[str, ...], Field(exclude_if=lambda judges: not judges)] = ()

    @property
    def heading(self) -> str:
        """The direction in words, where there are runs enough for one; the newest run's fall by the documents' rule beside it."""
        firm = " (provisional: fewer than five runs)" if self.provisional else ""
        words = (
            f"{self.direction}{firm}"
            if self.direction is not None
            else f"no trend yet (needs {SMALLEST_WINDOW} runs, has {self.series_length})"
        )
        fell = bool(self.points) and self.points[-1].is_regression
        if not fell or self.direction == "degrading":
            return words
        sure = self.change is not None and self.change.verdict == "regressed"
        return f"{words}, but the newest run {'regressed' if sure else 'fell, which is not statistically significant'}"


async def summarize_trend(engine: Engine, benchmark_id: str, *, limit: int = 20) -> TrendSummary:
    """The trend of the benchmark with its last `limit` points; raises `NotFoundError` where it never ran, and
    `BadInputError` where none of its runs is a point of a trend.
    """
    rule = engine.skills.detect_trend.parameters
    return await engine.store.read(lambda db: _summary(db, benchmark_id, rule, limit))


def no_points(db: Db, benchmark_id: str) -> BadInputError:
    """Returns why a benchmark has no trend: it never ran, or only in runs that are no point of one."""
    newest = newest_run(db, benchmark_id)
    if newest is None:
        return NotFoundError(
            "run of the benchmark",
            benchmark_id,
            remedy=f"{Next('run-benchmark', {'benchmark_id': benchmark_id}, 'makes one')}.",
        )
    return BadInputError(
        f"{benchmark_id} has runs, but none counts for a trend. Runs of a config or a comparison, runs of selected cases and rejudged runs"
        " do not count.",
        remedy=f"{Next('show-run', {'run_id': newest}, 'shows the newest')}. {Next('diff', reason='compares two runs')}.",
    )


def _summary(db: Db, benchmark_id: str, rule: DetectTrendParameters, limit: int) -> TrendSummary:
    benchmark = records.require(db, benchmark_id, Benchmark)
    shown = trend_points.history(db, benchmark_id, limit=limit + 1)
    if not shown:
        raise no_points(db, benchmark_id)
    key = shown[-1].series
    window = [run.score for run in trend_points.history(db, benchmark_id, series=key, limit=rule.window)]
    last = read_trend(window, window=rule.window, variance=rule.variance)
    counted = trend_points.counts(db, benchmark_id, key)
    trend = records.minion(db, trend_id(benchmark_id))
    levels = read_levels(db, benchmark_id)
    return TrendSummary(
        benchmark_id=benchmark_id,
        dimension=benchmark.fields.dimension,
        direction=last.direction if counted.runs >= SMALLEST_WINDOW else None,
        reason=last.reason,
        slope=last.slope,
        slope_interval=slope_interval(window) if len(window) > 1 else None,
        p_value=last.p_value,
        volatile=last.volatile,
        provisional=last.provisional,
        consecutive_degrading=trend.fields.consecutive_degrading
        if trend and isinstance(trend.fields, EvalTrend)
        else 0,
        window=rule.window,
        change_points=trend_points.of_series(db, key, levels.moved),
        level_change=levels.last_change,
        change=read_beside(db, shown[-1].run_id),
        series_length=counted.runs,
        earlier_series=counted.earlier,
        points=_points(db, benchmark_id, shown, rule, levels)[-limit:],
        judged_by=shown[-1].judged_by,
    )


def _points(
    db: Db, benchmark_id: str, shown: list[SeriesRun], rule: DetectTrendParameters, levels: Levels
) -> list[TrendPoint]:  # fmt: skip
    """The runs, each with the reading that it had in its own series; where none was kept it is computed."""
    directions: dict[str, Direction] = {run.run_id: run.direction for run in shown if run.direction is not None}
    for key in {run.series for run in shown if run.direction is None}:
        series = trend_points.history(db, benchmark_id, series=key)
        directions.update(zip((run.run_id for run in series), directions_of(series, rule), strict=True))
    early = _too_early(db, benchmark_id, shown)
    points: list[TrendPoint] = []
    before: str | None = None
    for run in shown:
        points.append(
            TrendPoint(
                run_id=run.run_id,
                at=iso(run.at),
                score=run.score,
                direction=None if run.run_id in early else directions[run.run_id],
                is_regression=run.is_regression,
                new_series=before is not None and before != run.series,
                change_point=run.run_id in levels.moved,
                version=run.version,
                cost_usd=run.cost_usd,
                judged_by=run.judged_by,
                evidence=run.evidence if run.is_regression else None,
            )
        )
        before = run.series
    return points


def _too_early(db: Db, benchmark_id: str, shown: list[SeriesRun]) -> set[str]:
    """The runs that were the newest of their series when it had fewer than a direction needs."""
    found: set[str] = set()
    for key, runs_shown in Counter(run.series for run in shown).items():
        before = trend_points.counts(db, benchmark_id, key).runs - runs_shown
        found.update([run.run_id for run in shown if run.series == key][: max(0, SMALLEST_WINDOW - 1 - before)])
    return found
