"""Intervals of a pass rate or a score."""

from __future__ import annotations

import math
import sys
from dataclasses import astuple
from statistics import NormalDist

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.student import t_quantile

Bounds = tuple[float, float]
_ROUNDING = 1e-9


def wilson(passed: int, total: int, *, level: float = 0.95) -> Bounds | None:
    """The score interval of a pass rate, as fractions from 0 to 1; None where nothing ran.

    Wilson 1927, JASA 22:209; recommended at small n by Brown, Cai & DasGupta 2001, Statistical Science 16:101.
    """
    _check_level(level)
    if not 0 <= passed <= total:
        raise ValueError(f"{passed} passed of {total} is no pass rate")
    if total == 0:
        return None
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    rate = passed / total
    centre = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = math.sqrt(z2 * (rate * (1 - rate) / total + z2 / (4 * total * total))) / (1 + z2 / total)
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == total else min(1.0, centre + half)
    return low, high


@frozen_type
class ScoreSums:
    """The sums that SQL can make over `units` independent units: scores s, their maxima m, and the products of both.

    A unit is a test case; the trials of one case are added up first, for they are not independent.
    """

    units: int
    scores: float
    maxima: float
    scores_squared: float
    scores_by_maxima: float
    maxima_squared: float


def score_interval(sums: ScoreSums, *, level: float = 0.95) -> Bounds | None:
    """The interval of Σs / Σm, within 0 and 1; None below 2 units or where nothing could be scored.

    The linearized (delta method) variance of a ratio, Cochran 1977, Sampling Techniques, section 6.4, with Student's t.
    The sample counts as its effective size (Σm)² / Σm² (Kish 1965, Survey Sampling, section 11.7): with unequal maxima
    n itself covers .90 of the time at n = 5, this .94. Where all units have the same share the interval is that share.
    """
    _check_level(level)
    if not all(math.isfinite(part) for part in astuple(sums)):
        raise ValueError("the sums of a score interval must be finite")
    if sums.units < 2 or sums.maxima <= 0:
        return None
    ratio = sums.scores / sums.maxima
    size = sums.maxima**2 / sums.maxima_squared
    if size - 1 < _ROUNDING:  # one unit has all the points
        return None
    error = math.sqrt(size / (size - 1) * _squared_residuals(sums, ratio)) / sums.maxima
    half = t_quantile((1 + level) / 2, size - 1) * error
    return _clipped(ratio - half), _clipped(ratio + half)


def _squared_residuals(sums: ScoreSums, ratio: float) -> float:
    """Σ(s - ratio·m)² out of the sums; 0 where the rounding of the sums is all there is."""
    fitted = ratio * ratio * sums.maxima_squared
    residuals = sums.scores_squared - 2 * ratio * sums.scores_by_maxima + fitted
    rounding = 4 * sums.units * sys.float_info.epsilon * (sums.scores_squared + fitted)
    return residuals if residuals > rounding else 0.0


def _clipped(share: float) -> float:
    return min(1.0, max(0.0, share))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not {level}")
