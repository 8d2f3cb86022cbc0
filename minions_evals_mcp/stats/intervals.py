"""Intervals of a pass rate or a score."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import astuple
from statistics import NormalDist

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.student import incomplete_beta, t_quantile

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
    return _score_bounds(passed / total, total, level)


def _score_bounds(rate: float, size: float, level: float) -> Bounds:
    """Wilson's interval for a rate seen in `size` independent units, which need not be a whole number."""
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    centre = (rate + z2 / (2 * size)) / (1 + z2 / size)
    half = math.sqrt(z2 * (rate * (1 - rate) / size + z2 / (4 * size * size))) / (1 + z2 / size)
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return low, high


FEW_CASES = 10
"""Up to this many independent cases a pass rate gets the exact interval."""


def exact_interval(passed: int, total: int, *, level: float = 0.95) -> Bounds:
    """The interval of a pass rate that covers at least `level` at any size (Clopper & Pearson 1934, Biometrika 26:404)."""
    _check_level(level)
    if not 0 <= passed <= total or total == 0:
        raise ValueError(f"{passed} passed of {total} is no pass rate")
    tail = (1 - level) / 2
    low = 0.0 if passed == 0 else _rate_where(lambda p: incomplete_beta(p, passed, total - passed + 1) >= tail)
    high = 1.0 if passed == total else _rate_where(lambda p: incomplete_beta(p, passed + 1, total - passed) >= 1 - tail)
    return low, high


def _rate_where(is_reached: Callable[[float], bool]) -> float:
    """The rate from which a rising condition holds, by bisection to the last digit."""
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high


@frozen_type
class ScoreSums:
    """The sums that SQL can make over `units` independent units: scores s, their maxima m, and the products of both.

    A unit is a group of test cases, or a test case that is in no group. The trials of a case, and the cases of a group, are
    added up first, for they are not independent. `scores_squared_per_maximum` is the sum of s² / m.
    """

    units: int
    scores: float
    maxima: float
    scores_squared: float
    scores_by_maxima: float
    maxima_squared: float
    scores_squared_per_maximum: float


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


@frozen_type
class RateInterval:
    """The interval of a pass rate (0 to 1), and the number of independent cases that would tell as much."""

    bounds: Bounds
    effective: float


def pass_rate_interval(sums: ScoreSums, *, level: float = 0.95) -> RateInterval | None:
    """The interval of the pass rate of `maxima` test-runs in `units` independent groups; None where nothing ran.

    `scores` are the passed test-runs. Without groups and trials: exact up to 10 cases, then Wilson's. Else Wilson's at the
    effective sample size (Kish 1965, Survey Sampling, section 8.2), corrected for the few groups that estimate it (Korn &
    Graubard 1998, Survey Methodology 24:193); where all groups agree, that size is the number of groups.
    """
    _check_level(level)
    passed, total = round(sums.scores), round(sums.maxima)
    if total == 0:
        return None
    if round(sums.units) == total:
        exact = total <= FEW_CASES
        bounds = exact_interval(passed, total, level=level) if exact else wilson(passed, total, level=level)
        assert bounds is not None
        return RateInterval(bounds, float(total))
    rate, groups = passed / total, sums.maxima**2 / sums.maxima_squared
    if groups - 1 < _ROUNDING:
        return RateInterval(_score_bounds(rate, 1.0, level), 1.0)
    variance = groups / (groups - 1) * _squared_residuals(sums, rate) / total**2
    size = min(float(total), rate * (1 - rate) / variance) if variance > 0 and 0 < rate < 1 else groups
    few = NormalDist().inv_cdf((1 + level) / 2) / t_quantile((1 + level) / 2, groups - 1)
    return RateInterval(_score_bounds(rate, max(1.0, size * few**2), level), max(1.0, _effective(sums, rate)))


def _effective(sums: ScoreSums, rate: float) -> float:
    """The number of independent test-runs that would tell as much of a pass rate."""
    from minions_evals_mcp.stats.grouped.design_effect import Layout, design_effect  # noqa: PLC0415  most runs have no groups

    typical = sums.maxima_squared / sums.maxima
    if not 0 < rate < 1:  # all agree: the groups are all that was seen
        return sums.maxima / typical
    between = sums.scores_squared_per_maximum - sums.scores**2 / sums.maxima
    within = sums.scores - sums.scores_squared_per_maximum
    layout = Layout(sums.maxima, sums.units, max(0.0, between), max(0.0, within), sums.maxima_squared)
    return sums.maxima / design_effect(layout.correlation, typical)


def grouped_pass_rate(verdicts: Iterable[tuple[str, bool]]) -> RateInterval | None:
    """The same of verdicts, each with the group that it belongs to."""
    groups: dict[str, list[bool]] = {}
    for group, passed in verdicts:
        groups.setdefault(group, []).append(passed)
    units = [(sum(of), len(of)) for of in groups.values()]
    return pass_rate_interval(
        ScoreSums(
            units=len(units),
            scores=sum(passed for passed, _ in units),
            maxima=sum(size for _, size in units),
            scores_squared=sum(passed * passed for passed, _ in units),
            scores_by_maxima=sum(passed * size for passed, size in units),
            maxima_squared=sum(size * size for _, size in units),
            scores_squared_per_maximum=math.fsum(passed * passed / size for passed, size in units),
        )
    )


def rate_bounds(passed: int, total: int, *, level: float = 0.95) -> Bounds | None:
    """The interval of a pass rate of so many independent cases."""
    if total == 0:
        return None
    return exact_interval(passed, total, level=level) if total <= FEW_CASES else wilson(passed, total, level=level)


def rate_bounds_like(passed: int, total: int, *, seen: tuple[int, int], bounds: Bounds) -> Bounds:
    """The interval of a pass rate of `total` test-runs that hang together as those `seen` (passed, total), whose `bounds` are known.

    The 95 % bounds tell the size of the sample by their width.
    """
    rate, width = seen[0] / seen[1], bounds[1] - bounds[0]

    def is_wider(size: float) -> bool:
        low, high = _score_bounds(rate, size, 0.95)
        return high - low > width

    least, most = 1.0, float(seen[1])
    while least < (middle := (least + most) / 2) < most:
        least, most = (middle, most) if is_wider(middle) else (least, middle)
    return _score_bounds(passed / total, least * total / seen[1], 0.95)


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
