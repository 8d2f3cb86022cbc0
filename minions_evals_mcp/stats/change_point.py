"""Where a benchmark moved to another level, and stayed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FEWEST_POINTS = 12
"""Fewer points in the series are not searched."""
FEWEST_A_SIDE = 3
SIGNIFICANT = 0.004
"""A level history of 50 runs that is searched after each of them is then split at some time in about 6 % (simulated)."""
SHUFFLES = 1_999
_DECIMALS = 9
_Floats = NDArray[np.float64]


def change_points(scores: Sequence[float], *, seed: int = 0) -> tuple[int, ...]:
    """The indexes at which a new level begins, oldest first; () below 12 points.

    The largest standardized CUSUM (Page 1955, Biometrika 42:523; Sen & Srivastava 1975, Ann. Statist. 3:98) against the
    same scores in random orders, then each side again, with half the error of what it is part of. The error is so small
    because a history is searched after every run. A steady drift is split as well: it is no one level.
    """
    if not all(math.isfinite(score) for score in scores):
        raise ValueError("change-points are sought in finite scores; leave out the runs that have none")
    if len(scores) < FEWEST_POINTS:
        return ()
    seen = np.round(np.asarray(scores, dtype=np.float64), _DECIMALS)
    return tuple(_splits(seen, 0, SIGNIFICANT, np.random.default_rng(seed)))


def _splits(seen: _Floats, first: int, level: float, order: np.random.Generator) -> list[int]:
    if len(seen) < 2 * FEWEST_A_SIDE or np.ptp(seen) == 0:
        return []
    observed = _cusum(seen[np.newaxis])[0]
    place = int(observed.argmax())
    shuffled = _cusum(order.permuted(np.broadcast_to(seen, (SHUFFLES, len(seen))), axis=1)).max(axis=1)
    hits = int(np.count_nonzero(shuffled >= observed[place] * (1 - 1e-9)))
    if (1 + hits) / (1 + SHUFFLES) > level:
        return []
    split = place + FEWEST_A_SIDE
    older = _splits(seen[:split], first, level / 2, order)
    return [*older, first + split, *_splits(seen[split:], first + split, level / 2, order)]


def _cusum(rows: _Floats) -> _Floats:
    """For each row and each split that leaves 3 points a side: how far its sums depart, in units of their spread."""
    points = rows.shape[1]
    sizes: NDArray[np.int64] = np.arange(FEWEST_A_SIDE, points - FEWEST_A_SIDE + 1, dtype=np.int64)
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, sizes - 1]
    return np.abs(sums) / np.sqrt(sizes * (points - sizes) / points)
