"""The skill "detect trends": on each completed benchmark-run, where its series is heading; told once for each degrading streak."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, Direction, EvalTrend
from minions_evals_mcp.domain.values import MAX_ID, iso
from minions_evals_mcp.engine.conclude.levels import record_levels
from minions_evals_mcp.engine.outbox import message, queue
from minions_evals_mcp.skills import DetectTrendParameters
from minions_evals_mcp.stats.series.trend import SMALLEST_WINDOW, read_trend, streak_start
from minions_evals_mcp.store import records
from minions_evals_mcp.store.benchmarks import BenchmarkHead
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries import trend_points
from minions_evals_mcp.store.queries.trend_points import SeriesRun

DEGRADING, FALLEN = "trend-degrading", "level-fallen"


def record_trend(
    db: Db, run: Record[BenchmarkRun], series: str, *, rule: DetectTrendParameters, benchmark: BenchmarkHead
) -> None:
    """Writes the trend of the series that the run belongs to; `consecutive` degrading in a row escalate once."""
    at = run.fields.ran_at
    points = trend_points.history(db, benchmark.id, series=series)
    last = read_trend([point.score for point in points], window=rule.window, variance=rule.variance)
    trend_points.keep_reading(db, run.id, last.direction)
    directions = directions_of([*points[:-1], replace(points[-1], direction=last.direction)], rule)
    began = streak_start(directions)
    standing = record_levels(db, run, series, points, variance=rule.variance)
    fields = EvalTrend(
        benchmark_id=benchmark.id,
        dimension=benchmark.dimension,
        data_points=json.dumps(
            [
                {"date": iso(point.at), "score": round(point.score, 6), "direction": direction}
                for point, direction in zip(points, directions, strict=True)
            ]
        ),
        direction=last.direction,
        last_computed_at=at,
        window=rule.window,
        consecutive_degrading=0 if began is None else len(points) - began,
        slope=last.slope,
        p_value=last.p_value,
        volatile=last.volatile,
        provisional=last.provisional,
        evidence=standing.evidence,
        change_points=tuple(trend_points.levels(db, benchmark.id, series)),
        judged_by=run.fields.judged_by,
    )
    ident = trend_id(benchmark.id)
    trend_before = records.minion(db, ident)
    title = f"{benchmark.title}: {last.direction if last.n >= SMALLEST_WINDOW else 'no trend yet'}"
    records.save(db, Record(ident, fields, title, trend_before.created_at if trend_before else at, at))
    detail: Json = {"direction": last.direction, "reason": last.reason}
    append(db, Event("trend-computed", "eval-trend", ident, detail), at=at)
    if began is not None and fields.consecutive_degrading >= rule.consecutive:
        _escalate(db, run, fields, points[began])
    elif standing.fallen_at is not None:
        _escalate(db, run, fields, standing.fallen_at, kind=FALLEN)


def directions_of(series: Sequence[SeriesRun], rule: DetectTrendParameters) -> list[Direction]:
    """The reading of each run of a whole series when it was the newest: the kept one, else as it is computed now."""
    scores = [point.score for point in series]
    return [
        point.direction or read_trend(scores[: place + 1], window=rule.window, variance=rule.variance).direction
        for place, point in enumerate(series)
    ]


def trend_id(benchmark_id: str) -> str:
    """Under which id a benchmark's trend is kept."""
    ident = f"trend:{benchmark_id}"
    return ident if len(ident) <= MAX_ID else f"trend:{text_digest(benchmark_id)}"


def _escalate(
    db: Db, run: Record[BenchmarkRun], trend: EvalTrend, began: SeriesRun, *, kind: str = DEGRADING
) -> None:  # fmt: skip
    """Tells the orchestrator, with the whole series; the streak, or the fallen level, is known by the run at which it began.

    A streak is told again once it is supported: whoever goes by evidence hears of it then.
    """
    payload: Json = {
        "benchmarkId": trend.benchmark_id, "dimension": trend.dimension, "direction": trend.direction,
        "consecutiveDegrading": trend.consecutive_degrading, "dataPoints": json.loads(trend.data_points),
        "slope": trend.slope, "pValue": trend.p_value, "evidence": trend.evidence, "provisional": trend.provisional,
        "changePoints": [*trend.change_points],
    }  # fmt: skip
    announcement = message("trend-degrading", payload, at=run.fields.ran_at)
    supported = ":supported" if trend.evidence == "supported" else ""
    key = f"{kind}:{trend.benchmark_id}:{began.run_id}{supported}"
    queue(db, f"{run.id}:trend", announcement, key=key, at=run.fields.ran_at)
