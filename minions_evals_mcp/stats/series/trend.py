"""The direction of a benchmark: contracts, section 8a.

Wherever a series is a parameter, it stands oldest first and holds valid points only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from minions_evals_mcp.domain.results import Direction
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.series.mann_kendall import mann_kendall, order_chance, smallest_significant_s, theil_sen

SMALLEST_WINDOW, LARGEST_WINDOW = 3, 12
FIRM_FROM = 5
"""Fewer points than this give a provisional reading; an escalation by one says so."""
DECIMALS = 9
"""Scores count to so many decimals: what differs further down is rounding, and is equal."""
_SMALL_MEAN = 0.05


@frozen_type
class TrendReading:
    """The direction of one window, and what it rests on.

    `n` points; `mean` None without any; `slope` (score per run) and `p_value` (the share of all orders of these scores
    that are at least as regular, one-sided) None below 3; `s` is Mann-Kendall's sum. `volatile`: it moves, but in no
    direction. `provisional`: few points.
    """

    direction: Direction
    n: int
    mean: float | None
    slope: float | None
    s: int
    p_value: float | None
    volatile: bool
    provisional: bool
    reason: str


def read_trend(scores: Sequence[float], *, window: int = 5, variance: float = 0.05) -> TrendReading:
    """The direction of the last `window` (3 to 12) scores; `variance` is the share of their mean that is stable."""
    _check(window, variance)
    if not all(math.isfinite(score) for score in scores):
        raise ValueError("a trend is read from finite scores; leave out the runs that have none")
    seen = [round(score, DECIMALS) for score in scores[-window:]]
    if len(seen) < SMALLEST_WINDOW:
        return _insufficient(seen)
    mean, s, slope = fmean(seen), mann_kendall(seen), theil_sen(seen)
    band = variance * (mean if mean > _SMALL_MEAN else 1)
    direction, volatile, reason = _first_match(seen, s=s, slope=slope, band=band)
    return TrendReading(
        direction=direction,
        n=len(seen),
        mean=mean,
        slope=slope,
        s=s,
        p_value=order_chance(seen, abs(s)),
        volatile=volatile,
        provisional=len(seen) < FIRM_FROM,
        reason=reason,
    )


def read_series(scores: Sequence[float], *, window: int = 5, variance: float = 0.05) -> tuple[TrendReading, ...]:
    """The reading of each score of a series at the time when it was the newest."""
    return tuple(
        read_trend(scores[max(0, end - window) : end], window=window, variance=variance)
        for end in range(1, len(scores) + 1)
    )


def streak_start(directions: Sequence[Direction]) -> int | None:
    """The index at which the newest unbroken run of degrading readings began; None where the newest is not degrading."""
    start = len(directions)
    while start and directions[start - 1] == "degrading":
        start -= 1
    return start if start < len(directions) else None


def _first_match(seen: Sequence[float], *, s: int, slope: float, band: float) -> tuple[Direction, bool, str]:
    n, spread, drift = len(seen), max(seen) - min(seen), abs(slope) * (len(seen) - 1)
    needed = smallest_significant_s(n)
    if not _exceeds(spread, band):
        return (
            "stable",
            False,
            f"the last {n} scores lie within {spread:.3g} of each other (up to {band:.3g} is stable)",
        )
    if not _exceeds(drift, band):
        return "stable", False, f"the last {n} scores drift by {drift:.3g} in all (up to {band:.3g} is stable)"
    moved = f"the last {n} scores move by {slope:+.3g} a run (S = {s}, p = {order_chance(seen, abs(s)):.3g})"
    if s >= needed:
        return "improving", False, moved
    if s <= -needed:
        return "degrading", False, moved
    return "stable", True, f"{moved}, but go up and down (a trend needs an S of ±{needed})"


def _exceeds(value: float, band: float) -> bool:
    return round(value - band, DECIMALS) > 0


def _insufficient(seen: Sequence[float]) -> TrendReading:
    return TrendReading(
        direction="stable",
        n=len(seen),
        mean=fmean(seen) if seen else None,
        slope=None,
        s=mann_kendall(seen),
        p_value=None,
        volatile=False,
        provisional=True,
        reason=f"{len(seen)} of the {SMALLEST_WINDOW} runs that a trend needs",
    )


def _check(window: int, variance: float) -> None:
    if not SMALLEST_WINDOW <= window <= LARGEST_WINDOW:
        raise ValueError(f"a window holds {SMALLEST_WINDOW} to {LARGEST_WINDOW} scores, not {window}")
    if not 0 < variance < 1:
        raise ValueError(f"the variance of a stable trend is a share between 0 and 1, not {variance}")
