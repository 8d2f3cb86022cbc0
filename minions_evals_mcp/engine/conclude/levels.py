"""The levels of a benchmark: where a new one began is found when a run is recorded, and kept from then on."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, Evidence
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.series.change_point import FEWEST_POINTS, MOST_NEW, newest_change
from minions_evals_mcp.stats.series.season import without_season
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import trend_points
from minions_evals_mcp.store.queries.trend_points import SeriesRun

SEARCHED = 200
"""So many of the newest runs are searched; what was found in older ones is kept."""
NEAR = 2
"""A level that is found so near to one that is kept is that one."""


@frozen_type
class LevelStanding:
    """The state of the series: whether it fell for sure, and the run at which a fall began that this look was the first to see."""

    evidence: Evidence
    fallen_at: SeriesRun | None = None


def record_levels(
    db: Db, run: Record[BenchmarkRun], series: str, points: Sequence[SeriesRun], *, variance: float
) -> LevelStanding:  # fmt: skip
    """Keeps where a level begins, once it is seen; a level that came and went again has two ends, both kept.

    A step within the share `variance` of the mean is none.
    """
    seen = points[-SEARCHED:]
    starts = [0, *(place for place, point in enumerate(seen) if point.new_level and place)]
    raw, moments = [point.score for point in seen], [point.at for point in seen]
    scores = [round(score, 9) for score in without_season(raw, moments, starts, newest=MOST_NEW)]
    change = newest_change(scores, starts, looks=len(points))
    if change is None or abs(change.step) <= variance * fmean(scores) or change.place - starts[-1] <= NEAR:
        return LevelStanding(_evidence(scores, starts, len(points)))
    began = seen[change.place]
    trend_points.keep_level(db, began.run_id, run.fields.benchmark_id, series, found_by=run.id, at=run.fields.ran_at)
    evidence = _evidence(scores, [*starts, change.place], len(points))
    return LevelStanding(evidence, began if change.is_fall else None)


def _evidence(scores: Sequence[float], starts: Sequence[int], runs: int) -> Evidence:
    """Returns whether the newest level is a fallen one; too few runs decide nothing."""
    if len(starts) > 1 and fmean(scores[starts[-1] :]) < fmean(scores[starts[-2] : starts[-1]]):
        return "supported"
    return "within-noise" if runs >= FEWEST_POINTS else "undecidable"
