"""A median or 95th percentile and its interval, whatever the distribution: between two of the values themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

OpenBounds = tuple[float | None, float | None]
"""The ends of an interval; None where so few values bound nothing on that side."""


class QuantileInterval(NamedTuple):
    """The quantile and its interval."""

    value: float
    interval: OpenBounds


def quantile_interval(
    values: Sequence[float], share: float, *, units: int | None = None, level: float = 0.95
) -> QuantileInterval:
    """The quantile of values with the interval of their order statistics (Conover 1999, 3.2), exact at any size.

    `units`: how many of them are independent (a case's trials are not), each by default.
    The chance that k of n values lie below the quantile is binomial, so that each end errs in at most half of 1 - level. Of
    15, 40 or 100 lognormal, tied or waiting times it holds the truth in at least 95 %; the bootstrap's BCa interval does so
    in half for a 95th percentile of 15 (`tests.bench.verdicts.skewed_figures`).
    """
    if not values:
        raise ValueError("no value has no quantile")
    ordered = sorted(values)
    size = len(ordered) if units is None else min(units, len(ordered))
    tail = (1 - level) / 2
    below = _cumulated(size, share)
    first = sum(reached <= tail for reached in below)  # P(at most first - 1 lie below) <= tail
    last = next((place for place, reached in enumerate(below) if 1 - reached <= tail), size)
    low = ordered[(first - 1) * len(ordered) // size] if first else None
    high = ordered[-((size - 1 - last) * len(ordered) // size) - 1] if last < size else None
    return QuantileInterval(_interpolated(ordered, share), (low, high))


def _cumulated(size: int, share: float) -> list[float]:
    """The chances that at most 0, 1, …, size - 1 of the values lie below the quantile."""
    reached, total = list[float](), 0.0
    for count in range(size):
        logarithm = math.lgamma(size + 1) - math.lgamma(count + 1) - math.lgamma(size - count + 1)
        total += math.exp(logarithm + count * math.log(share) + (size - count) * math.log1p(-share))
        reached.append(min(1.0, total))
    return reached


def _interpolated(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
