"""Where a benchmark is heading, read for a decision: the direction and why, its slope, its breaks and its regressions."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.results import Direction
from minions_evals_mcp.domain.values import Value, iso
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.skills import DetectTrendParameters
from minions_evals_mcp.stats.mann_kendall import slope_interval
from minions_evals_mcp.stats.trend import consecutive_degrading, read_series
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import trend_points
from minions_evals_mcp.store.queries.trend_points import SeriesRun


class TrendPoint(Value):
    """One benchmark-run in the history; `direction` is the reading when it was the newest of its series."""

    run_id: str
    at: str
    score: float
    direction: Direction
    is_regression: bool
    new_series: bool
    change_point: bool


class TrendSummary(Value):
    """A benchmark's newest series. `slope` is score per run over the window, its interval at least 95 %.

    A changed rubric, judge, scorer, embedder or case set starts a new series; `earlierSeries` counts those before.
    """

    benchmark_id: str
    dimension: str
    direction: Direction
    reason: str
    slope: float | None
    slope_interval: tuple[float, float] | None
    p_value: float | None
    volatile: bool
    provisional: bool
    consecutive_degrading: int
    window: int
    change_points: list[str]
    series_length: int
    earlier_series: int
    points: list[TrendPoint]


async def summarize_trend(engine: Engine, benchmark_id: str, *, limit: int = 20) -> TrendSummary:
    """The trend of the benchmark with its last `limit` points; raises `NotFoundError` where it never ran."""
    rule = engine.skills.detect_trend.parameters
    return await engine.store.read(lambda db: _summary(db, benchmark_id, rule, limit))


def _summary(db: Db, benchmark_id: str, rule: DetectTrendParameters, limit: int) -> TrendSummary:
    benchmark = records.minion(db, benchmark_id)
    if benchmark is None or not isinstance(benchmark.fields, Benchmark):
        raise NotFoundError("benchmark", benchmark_id, remedy="`minions-evals list benchmark` shows them.")
    history = trend_points.history(db, benchmark_id)
    if not history:
        raise NotFoundError("run of the benchmark", benchmark_id, remedy=f"minions-evals run-benchmark {benchmark_id}")
    newest = [run for run in history if run.series == history[-1].series]
    scores = [run.score for run in newest]
    readings = read_series(scores, window=rule.window, variance=rule.variance)
    last, window = readings[-1], scores[-rule.window :]
    directions: list[Direction] = [reading.direction for reading in readings]
    breaks = _breaks(newest)
    return TrendSummary(
        benchmark_id=benchmark_id,
        dimension=benchmark.fields.dimension,
        direction=last.direction,
        reason=last.reason,
        slope=last.slope,
        slope_interval=slope_interval(window) if len(window) > 1 else None,
        p_value=last.p_value,
        volatile=last.volatile,
        provisional=last.provisional,
        consecutive_degrading=consecutive_degrading(directions, window=rule.window),
        window=rule.window,
        change_points=breaks,
        series_length=len(newest),
        earlier_series=len({run.series for run in history}) - 1,
        points=_points(history, rule, set(breaks))[-limit:],
    )


def _breaks(newest: list[SeriesRun]) -> list[str]:
    """The runs at which the series moved to another level; sought from 12 points on."""
    from minions_evals_mcp.stats.change_point import FEWEST_POINTS, change_points  # noqa: PLC0415  numpy: 0.3 s

    if len(newest) < FEWEST_POINTS:
        return []
    return [newest[place].run_id for place in change_points([run.score for run in newest])]


def _points(history: list[SeriesRun], rule: DetectTrendParameters, breaks: set[str]) -> list[TrendPoint]:
    """Every run with the reading that it had in its own series."""
    seen: dict[str, list[float]] = {}
    points: list[TrendPoint] = []
    before: str | None = None
    for run in history:
        scores = seen.setdefault(run.series, [])
        scores.append(run.score)
        (*_, reading) = read_series(scores[-rule.window :], window=rule.window, variance=rule.variance)
        points.append(
            TrendPoint(
                run_id=run.run_id,
                at=iso(run.at),
                score=run.score,
                direction=reading.direction,
                is_regression=run.is_regression,
                new_series=before is not None and before != run.series,
                change_point=run.run_id in breaks,
            )
        )
        before = run.series
    return points
