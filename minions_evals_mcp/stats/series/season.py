"""The weekly season of a series: what each weekday lies off the level, taken off where it is more than chance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median

from minions_evals_mcp.stats.student import incomplete_beta

WEEK = 7
FEWEST_RUNS = 14
"""Fewer runs before the newest show no week."""
SIGNIFICANT = 0.01


def without_season(
    scores: Sequence[float], moments: Sequence[datetime], levels: Sequence[int], *, newest: int
) -> list[float]:
    """The scores less what their weekday lies off the level; as they are where weekdays do not differ beyond chance.

    The `newest` runs say nothing of the season, because they may have left the level; it is taken off them, too. `levels` are the
    places at which levels begin, the first at 0. What is left scatters less because the season was fitted, so that it is widened
    by as much.
    """
    known = len(scores) - newest
    if known < FEWEST_RUNS:
        return [*scores]
    bounds = [*levels, len(scores)]
    centres = [median(scores[begun : max(begun + 1, min(ended, known))]) for begun, ended in pairwise(bounds)]
    level_of = [
        centre for centre, (begun, ended) in zip(centres, pairwise(bounds), strict=True) for _ in range(begun, ended)
    ]
    rests = [score - level for score, level in zip(scores, level_of, strict=True)]
    by_day: dict[int, list[float]] = defaultdict(list)
    for apart, moment in zip(_off_the_week(scores[:known]), moments[:known], strict=True):
        by_day[moment.weekday()].append(apart)
    if len(by_day) < 2 or _chance(by_day) > SIGNIFICANT:
        return [*scores]
    usual = fmean(rests[:known])
    middle = fmean(apart for several in by_day.values() for apart in several)
    off = {day: fmean(several) - middle for day, several in by_day.items() if len(several) > 1}
    widened = math.sqrt(known / max(1, known - len(by_day)))
    return [
        level + usual + (rest - usual - off.get(moment.weekday(), 0.0)) * (widened if place < known else 1.0)
        for place, (level, rest, moment) in enumerate(zip(level_of, rests, moments, strict=True))
    ]


def _off_the_week(scores: Sequence[float]) -> list[float]:
    """How far each run lies off the mean of the week around it: a slow wave is no season."""
    apart: list[float] = []
    for place, score in enumerate(scores):
        first = min(max(0, place - WEEK // 2), max(0, len(scores) - WEEK))
        apart.append(score - fmean(scores[first : first + WEEK]))
    return apart


def _chance(by_day: dict[int, list[float]]) -> float:
    """The chance of so different weekdays where none differ: the F test of a one-way layout."""
    every = [rest for several in by_day.values() for rest in several]
    between_free, within_free = len(by_day) - 1, len(every) - len(by_day)
    if within_free < 1:
        return 1.0
    mean = fmean(every)
    between = math.fsum(len(several) * (fmean(several) - mean) ** 2 for several in by_day.values()) / between_free
    within = math.fsum((rest - fmean(several)) ** 2 for several in by_day.values() for rest in several) / within_free
    if within <= 0:
        return 0.0 if between > 0 else 1.0
    ratio = between / within
    return incomplete_beta(within_free / (within_free + between_free * ratio), within_free / 2, between_free / 2)
