"""Where a benchmark moved to another level, and stayed: found run by run, so that a later recovery takes nothing back.

Runs of one benchmark resemble those before them. Each look tests the newest runs against the level before by generalised
least squares under a first-order autoregression (Prais & Winsten 1954), whose correlation is estimated on the runs
before, free of the small-sample bias of that estimate (Kendall 1954, Biometrika 41:403). The error is spent over all looks
there will ever be; measured at every look of 50 runs, flat noise has a fall in 1 %, and in about 4 % where neighbours
correlate by .6 (tests/bench/error_budget.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from minions_evals_mcp.stats.student import t_cdf

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
ERROR = 0.01
"""For each direction, over all looks."""
STRONGEST = 0.8
"""Neighbours are taken to correlate by at most so much: beyond, a level cannot be told from a walk."""
_EARLY, _FADING = 20, 1.5
_SPENT = 2 / math.sqrt(_EARLY + FIRST_LEVEL)
"""About the sum of (t + 20)^-1.5 over all looks t."""
_LEAST_SPREAD = 0.02
"""Of the range of the scores: what never varied yet is not known to be constant."""
_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class Change:
    """A new level: where it begins, at which look (the number of runs then) that was seen, and how far it lies from the last."""

    place: int
    seen_at: int
    step: float
    p_value: float

    @property
    def is_fall(self) -> bool:
        return self.step < 0


def changes(scores: Sequence[float]) -> tuple[Change, ...]:
    """The changes of level that were seen when each run was the newest, oldest first; () below 12 runs.

    A level that came and went is two changes. What one look saw, no later one takes back.
    """
    if not all(math.isfinite(score) for score in scores):
        raise ValueError("change-points are sought in finite scores; leave out the runs that have none")
    seen = [round(score, _DECIMALS) for score in scores]
    found: list[Change] = []
    for looks in range(FEWEST_POINTS, len(seen) + 1):
        change = newest_change(seen[:looks], [0, *(one.place for one in found)], looks=looks)
        if change is not None:
            found.append(change)
        elif found and looks <= found[-1].seen_at + PLACED_WITHIN:
            found[-1] = _placed(seen[:looks], [0, *(one.place for one in found[:-1])], found[-1])
    return tuple(found)


def change_points(scores: Sequence[float]) -> tuple[int, ...]:
    """The indexes at which a new level begins, oldest first."""
    return tuple(change.place for change in changes(scores))


def _placed(seen: Sequence[float], levels: Sequence[int], change: Change) -> Change:
    """The change where it is likeliest to have begun, now that more runs are there: where it was seen, or a little later."""
    places = range(change.place, min(change.place + PLACED_WITHIN, len(seen) - FEWEST_A_SIDE) + 1)
    tested = [found for place in places if (found := _tested(seen, levels, place)) is not None]
    best = min(tested, key=lambda found: found.p_value, default=change)
    return replace(change, place=best.place, step=best.step)


def newest_change(seen: Sequence[float], levels: Sequence[int], *, looks: int) -> Change | None:
    """One look: the likeliest change among the newest runs, if it is one.

    `levels` are where the levels so far begin, the first at 0; `looks`: how many runs there were in all, with those left out.
    """
    if looks < FEWEST_POINTS:
        return None
    error = ERROR * (looks + _EARLY) ** -_FADING / _SPENT
    tested = (_tested(seen, levels, len(seen) - new) for new in range(FEWEST_A_SIDE, MOST_NEW + 1))
    likely = [change for change in tested if change is not None and change.p_value <= error]
    likeliest = min(likely, key=lambda change: change.p_value, default=None)
    return None if likeliest is None else replace(likeliest, place=_begun(seen, levels[-1], likeliest.place))


def _begun(seen: Sequence[float], level: int, place: int) -> int:
    """Where the new level begins: of this run and the next two, the one that leaves the least squares on both sides."""
    places = range(place, min(place + PLACED_WITHIN, len(seen) - 1) + 1)
    return min(places, key=lambda begun: _squares(seen[level:begun]) + _squares(seen[begun:]))


def _squares(scores: Sequence[float]) -> float:
    mean = fmean(scores)
    return math.fsum((score - mean) ** 2 for score in scores)


def _tested(seen: Sequence[float], levels: Sequence[int], place: int) -> Change | None:
    """The step at that place and its one-sided p-value; None where the level before is not known well enough."""
    begun = levels[-1]
    if place < FIRST_LEVEL or place - begun < FEWEST_A_SIDE:
        return None
    rests, known = _rests(seen, levels, place)
    freedom = len(rests) - known - 1
    if freedom < 2:
        return None
    likeness = _likeness(rests)
    spread = _spread(rests, likeness, freedom, least=_LEAST_SPREAD * (max(seen) - min(seen)))
    if spread == 0:
        return None
    step, error = _step(seen[begun:], place - begun, likeness)
    lasts = median(seen[place:]) - fmean(seen[begun:place])
    if lasts * step <= 0 or abs(lasts) < abs(step) / 2:  # one run far off is no level
        return None
    return Change(place, len(seen), step, 1 - t_cdf(abs(step) / (error * spread), freedom))


def _rests(seen: Sequence[float], levels: Sequence[int], place: int) -> tuple[list[float], int]:
    """What the remembered runs before the place differ from their level, and how many levels that took."""
    first = max(0, place - REMEMBERED)
    rests: list[float] = []
    known = 0
    for begin, end in zip(levels, [*levels[1:], place], strict=True):
        level = seen[max(begin, first) : end]
        if level:
            mean = fmean(level)
            rests += [score - mean for score in level]
            known += 1
    return rests, known


def _likeness(rests: Sequence[float]) -> float:
    """How far neighbours correlate, from 0 to `STRONGEST`, corrected for what few runs hide of it."""
    total = math.fsum(rest * rest for rest in rests)
    if total == 0 or len(rests) < FIRST_LEVEL:
        return 0.0
    found = math.fsum(one * other for one, other in pairwise(rests)) / total
    corrected = (len(rests) * found + 1) / (len(rests) - 3)
    return min(STRONGEST, max(0.0, corrected))


def _spread(rests: Sequence[float], likeness: float, freedom: int, *, least: float) -> float:
    """The standard deviation of what each run adds to what the one before let expect."""
    first = rests[0] ** 2 * (1 - likeness**2)
    further = math.fsum((rest - likeness * before) ** 2 for before, rest in pairwise(rests))
    return max(math.sqrt((first + further) / freedom), least)


def _step(level: Sequence[float], place: int, likeness: float) -> tuple[float, float]:
    """By how much the runs from `place` on lie off those before, and the standard error of that in units of the spread."""
    rest, new = 1 - likeness, len(level) - place
    further = [score - likeness * before for before, score in pairwise(level)]
    mean_mean = 1 - likeness**2 + (len(level) - 1) * rest**2
    mean_step = rest + (new - 1) * rest**2
    step_step = 1 + (new - 1) * rest**2
    mean_sum = (1 - likeness**2) * level[0] + rest * math.fsum(further)
    after = further[place - 1 :]
    step_sum = after[0] + rest * math.fsum(after[1:])
    determinant = mean_mean * step_step - mean_step**2
    step = (mean_mean * step_sum - mean_step * mean_sum) / determinant
    return step, math.sqrt(mean_mean / determinant)
