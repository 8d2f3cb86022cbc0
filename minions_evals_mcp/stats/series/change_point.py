"""The places at which a benchmark moved to another level, and stayed: found run by run, so that a later recovery takes nothing back.

Each look tests the newest runs against the level before (`level_step`). The error is spent over all looks there will ever
be; measured at every look of 50 runs, flat noise has a fall in under 1 %, and in about 4 % where neighbours correlate by .6
(tests/bench/error_budget.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median

from minions_evals_mcp.frozen_types import frozen_type

FEWEST_POINTS = 12
"""Fewer points in the series are not searched."""
FEWEST_A_SIDE = 3
"""So long a level lasts before it is one, and so many of the newest runs are the fewest that are tested together."""
FIRST_LEVEL = 6
"""The first level is known from so many runs."""
MOST_NEW = 8
"""A level that did not show within so many runs is not sought any more."""
PLACED_WITHIN = 2
"""A level is seen only once it has so many runs less one behind it: so much later may have been its beginning."""
REMEMBERED = 60
"""So many runs before a place say where the level was and how far runs scatter."""
ERROR = 0.015
"""For each direction, added up over all looks. Looks overlap, so that flat noise falls in less than .01, as measured."""
_EARLY, _FADING = 20, 1.5
_SPENT = 2 / math.sqrt(_EARLY + FIRST_LEVEL)
"""About the sum of (t + 20)^-1.5 over all looks t."""
RECENT = 18
"""The newest runs before a place, which say how far runs scatter now: scatter that grew is no fall."""
DRIFT_RUNS, BEYOND_DRIFT = 10, 0.7
"""The runs before a place whose drift is drawn on, and the share of a step that must lie beyond it: a slow wave is no fall."""
_DECIMALS = 9


@frozen_type
class LevelChange:
    """A new level: where it begins, at which look (the number of runs then) that was seen, and how far it lies from the last."""

    place: int
    seen_at: int
    step: float
    p_value: float

    @property
    def is_fall(self) -> bool:
        return self.step < 0


def changes(scores: Sequence[float]) -> tuple[LevelChange, ...]:
    """The changes of level that were seen when each run was the newest, oldest first; () below 12 runs.

    A level that came and went is two changes. What one look saw, no later one takes back.
    """
    if not all(math.isfinite(score) for score in scores):
        raise ValueError("change-points are sought in finite scores; leave out the runs that have none")
    seen = [round(score, _DECIMALS) for score in scores]
    changes_seen: list[LevelChange] = []
    for looks in range(FEWEST_POINTS, len(seen) + 1):
        change = newest_change(seen[:looks], [0, *(change.place for change in changes_seen)], looks=looks)
        if change is not None:
            changes_seen.append(change)
        elif changes_seen and looks <= changes_seen[-1].seen_at + PLACED_WITHIN:
            changes_seen[-1] = _placed(
                seen[:looks], [0, *(change.place for change in changes_seen[:-1])], changes_seen[-1]
            )
    return tuple(changes_seen)


def _placed(seen: Sequence[float], levels: Sequence[int], change: LevelChange) -> LevelChange:
    """The change where it is likeliest to have begun, now that more runs are there: where it was seen, or a little later."""
    places = range(change.place, min(change.place + PLACED_WITHIN, len(seen) - FEWEST_A_SIDE) + 1)
    tested = [tested_change for place in places if (tested_change := _tested(seen, levels, place)) is not None]
    best = min(tested, key=lambda change: change.p_value, default=change)
    return replace(change, place=best.place, step=best.step)


def newest_change(seen: Sequence[float], levels: Sequence[int], *, looks: int) -> LevelChange | None:
    """One look: the likeliest change among the newest runs, if it is one.

    `levels` are where the levels so far begin, the first at 0; `looks`: how many runs there were in all, with those left out.
    """
    if looks < FEWEST_POINTS:
        return None
    error = ERROR * (looks + _EARLY) ** -_FADING / _SPENT
    places = [len(seen) - new for new in range(FEWEST_A_SIDE, MOST_NEW + 1)]
    likely = [change for place in places if (change := _tested(seen, levels, place, error)) is not None]
    likeliest = min(likely, key=lambda change: change.p_value, default=None)
    return None if likeliest is None else replace(likeliest, place=_begun(seen, levels[-1], likeliest.place))


def _begun(seen: Sequence[float], level: int, place: int) -> int:
    """Returns where the new level begins: of this run and the next two, the one that leaves the least squares on both sides."""
    places = range(place, min(place + PLACED_WITHIN, len(seen) - 1) + 1)
    return min(places, key=lambda begun: _squares(seen[level:begun]) + _squares(seen[begun:]))


def _squares(scores: Sequence[float]) -> float:
    mean = fmean(scores)
    return math.fsum((score - mean) ** 2 for score in scores)


def _tested(seen: Sequence[float], levels: Sequence[int], place: int, error: float = 1.0) -> LevelChange | None:
    """The step at that place, if its one-sided p-value is at most `error`; None where the level before is not known well enough."""
    begun = levels[-1]
    if place < FIRST_LEVEL or place - begun < FEWEST_A_SIDE:
        return None
    first = max(0, place - REMEMBERED)
    remembered = [0, *(level - first for level in levels if level > first)]
    from minions_evals_mcp.stats.series.level_step import level_step  # noqa: PLC0415  numpy, which few looks need

    tested = level_step(seen[first:], remembered, place - first)
    if tested is None or tested.p_value > error:
        return None
    lasts = median(seen[place:]) - fmean(seen[begun:place])
    if lasts * tested.step <= 0 or abs(lasts) < abs(tested.step) / 2:  # one run far off is no level
        return None
    beyond = fmean(seen[place:]) - _drawn_on(seen, max(begun, place - DRIFT_RUNS), place)
    if beyond * tested.step <= 0 or abs(beyond) < BEYOND_DRIFT * abs(tested.step):
        return None
    p_value = tested.p_value
    if (recent := max(begun, place - RECENT)) > begun:
        lately = level_step(seen[recent:], [0], place - recent)
        if lately is None or lately.step * tested.step <= 0 or lately.p_value > error:
            return None
        p_value = max(p_value, lately.p_value)
    return LevelChange(place, len(seen), tested.step, p_value)


def _drawn_on(seen: Sequence[float], first: int, place: int) -> float:
    """The level at the middle of the runs from `place` on if those from `first` to `place` went on as they do."""
    before = seen[first:place]
    if len(before) < FEWEST_A_SIDE:
        return fmean(before)
    middle, centre = (first + place - 1) / 2, fmean(before)
    spread = math.fsum((run - middle) ** 2 for run in range(first, place))
    slope = math.fsum((run - middle) * (seen[run] - centre) for run in range(first, place)) / spread
    return centre + slope * ((place + len(seen) - 1) / 2 - middle)
