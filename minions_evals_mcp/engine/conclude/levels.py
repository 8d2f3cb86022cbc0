"""The levels of a benchmark: where a new one began is found when a run is recorded, and kept from then on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pstdev

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import trend_points
from minions_evals_mcp.store.queries.trend_points import SeriesRun

SEARCHED = 200
"""So many of the newest runs are searched; what was found in older ones is kept."""
NEAR = 2
"""A level that is found so near to one that is kept is that one."""
_FEWEST = 12
_PLAIN = 1.6
"""A standardized CUSUM below this is reached by far more than 0.4 % of all orders of the same scores."""


def record_levels(db: Db, run: Record[BenchmarkRun], series: str, points: Sequence[SeriesRun]) -> None:
    """Keeps where levels of the series are found to begin; a level that came and went again has two ends, both kept."""
    seen = points[-SEARCHED:]
    scores = [point.score for point in seen]
    known = {place for place, point in enumerate(seen) if point.new_level}
    began = max(known, default=0)  # what came after the last level is searched alone: in the whole, a rise hides a fall
    found = {*level_places(scores), *(began + place for place in level_places(scores[began:]) if began)}
    for place in sorted(found):
        if all(abs(place - other) > NEAR for other in known):
            keep = seen[place].run_id
            trend_points.keep_level(db, keep, run.fields.benchmark_id, series, found_by=run.id, at=run.fields.ran_at)


def level_places(scores: Sequence[float]) -> tuple[int, ...]:
    """The indexes at which a new level begins."""
    if len(scores) < _FEWEST or not _may_move(scores):
        return ()
    from minions_evals_mcp.stats.change_point import change_points  # noqa: PLC0415  numpy: 0.3 s that a flat history saves

    return change_points(scores)


def _may_move(scores: Sequence[float]) -> bool:
    """Whether the scores depart from their mean so far that a search is worth its while."""
    mean, spread, count = fmean(scores), pstdev(scores), len(scores)
    if spread == 0:
        return False
    total, most = 0.0, 0.0
    for size, score in enumerate(scores[:-1], 1):
        total += score - mean
        most = max(most, abs(total) / math.sqrt(size * (count - size) / count))
    return most / spread >= _PLAIN
