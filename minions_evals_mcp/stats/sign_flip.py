"""Can the mean of paired differences be told from 0? The sign-flip test, and the interval that inverts it.

Under "no difference" a case's difference is as likely to have either sign (Fisher 1935, The Design of Experiments,
section 21). A mean m is rejected when too few sums with flipped signs are as extreme; which m are kept follows from the
means of subsets of the cases, without trying any m (Hartigan 1969, JASA 64:1303).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ENUMERATED = 16
"""Up to so many differences every choice of signs is tried."""
SIMULATED = 9_999
"""Beyond, so many choices are drawn: p is then known to about .002 where it is .05."""
_ROUNDING = 1e-9
_Floats = NDArray[np.float64]
_Choices = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The two-sided p-value of "the weighted mean difference is 0", and the interval of that mean."""

    p_value: float
    interval: tuple[float, float]


def sign_flip(
    differences: Sequence[float], weights: Sequence[float], *, level: float = 0.95, seed: int = 0
) -> SignFlip:
    """The test and the interval of Σ w·d / Σ w, for differences within -1 and 1 and positive weights.

    Fewer cases than the level needs (6 at 95 %) bound nothing: the interval is then -1 to 1. Random choices depend on
    `seed` and on the number of cases alone: differences of the opposite signs give the mirrored answer.
    """
    shares = np.asarray(weights, dtype=np.float64) * (len(weights) / math.fsum(weights))
    seen = np.asarray(differences, dtype=np.float64)
    return SignFlip(_p_value(shares * seen, seed), _interval(seen, shares, level=level, seed=seed))


def _p_value(parts: _Floats, seed: int) -> float:
    """The share of flips whose sum is at least as far from 0; ties, up to rounding, count as far.

    Simulated: (1 + hits) / (1 + draws), never 0 (Phipson & Smyth 2010, SAGMB 9:39).
    """
    changed = parts[parts != 0]
    choices = _choices(len(changed), seed)
    total = changed.sum()
    flipped = total - 2 * _subset_sums(changed[:, np.newaxis], choices)[:, 0]
    least = abs(total) - _ROUNDING * np.abs(changed).sum()
    hits = int(np.count_nonzero(np.abs(flipped) >= least))
    return hits / len(choices) if len(changed) <= ENUMERATED else (1 + hits) / (1 + len(choices))


def _interval(seen: _Floats, shares: _Floats, *, level: float, seed: int) -> tuple[float, float]:
    """Between the k-th smallest and the k-th largest mean of a subset, k = the flips that half the error allows."""
    choices = _choices(len(seen), seed)
    flips = len(choices) if len(seen) <= ENUMERATED else 1 + len(choices)
    k = math.floor((1 - level) / 2 * flips + _ROUNDING)
    if k == 0:
        return -1.0, 1.0
    sums = _subset_sums(np.column_stack((shares * seen, shares)), choices)
    sums = sums[sums[:, 1] > 0]  # no case flipped: that is the observed sum itself, which k leaves room for
    means = np.sort(sums[:, 0] / sums[:, 1])
    return float(means[k - 1]), float(means[-k])


def _choices(cases: int, seed: int) -> _Choices:
    """Which cases are flipped, one choice a row, a bit for each case: all there are, or a seeded sample."""
    if cases <= ENUMERATED:
        return np.arange(2**cases, dtype="<u2").view(np.uint8).reshape(-1, 2)
    return np.random.default_rng(seed).integers(0, 256, size=(SIMULATED, -(-cases // 8)), dtype=np.uint8)


def _subset_sums(values: _Floats, choices: _Choices) -> _Floats:
    """The column sums of the chosen rows, for each choice: eight rows at a time out of a table of their 256 sums."""
    eights = np.zeros((choices.shape[1] * 8, values.shape[1]))
    eights[: len(values)] = values
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little").astype(np.float64)
    sums = np.zeros((len(choices), values.shape[1]))
    for place, eight in enumerate(eights.reshape(choices.shape[1], 8, -1)):
        sums += (bits @ eight)[choices[:, place]]
    return sums
