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

from minions_evals_mcp.stats.intervals import Bounds

ENUMERATED = 16
"""Up to so many differences every choice of signs is tried."""
SIMULATED = 9_999
"""Beyond, so many choices are drawn: p is then known to about .002 where it is .05."""
_ROUNDING = 1e-9
_Floats = NDArray[np.float64]
_Choices = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The two-sided p-value of "the weighted mean difference is 0", and the interval of that mean.

    `doubt`: two standard errors of a simulated p-value, 0 of an exact one.
    """

    p_value: float
    doubt: float
    interval: Bounds


def sign_flip(
    differences: Sequence[float], weights: Sequence[float], *, level: float = 0.95, seed: int = 0
) -> SignFlip:
    """The test and the interval of Σ w·d / Σ w, for differences within -1 and 1 and positive weights.

    Fewer cases than the level needs (6 at 95 %) bound nothing: the interval is then -1 to 1. Random choices depend on
    `seed` and on the number of cases alone: differences of the opposite signs give the mirrored answer. A simulated
    p-value is (1 + hits) / (1 + draws), never 0 (Phipson & Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39).
    """
    shares = np.asarray(weights, dtype=np.float64) * (len(weights) / math.fsum(weights))
    parts = shares * np.asarray(differences, dtype=np.float64)
    choices = _choices(len(parts), seed)
    sums = _chosen_sums(np.column_stack((parts, shares)), choices)
    exact = len(parts) <= ENUMERATED
    interval = _interval(sums, level=level, flips=len(sums) if exact else 1 + SIMULATED)
    changed = parts[parts != 0]
    if len(changed) > ENUMERATED:
        p_value = (1 + _hits(parts, sums[:, 0])) / (1 + SIMULATED)
        return SignFlip(p_value, 2 * math.sqrt(p_value * (1 - p_value) / SIMULATED), interval)
    of_changed = sums[:, 0] if exact else _chosen_sums(changed[:, np.newaxis], _choices(len(changed), seed))[:, 0]
    return SignFlip(_hits(parts, of_changed) / len(of_changed), 0.0, interval)


def _hits(parts: _Floats, flipped: _Floats) -> int:
    """Returns how many choices, by the sum of what they flip, leave a sum at least as far from 0; ties, up to rounding, do."""
    total = float(parts.sum())
    least = abs(total) - _ROUNDING * float(np.abs(parts).sum())
    return int(np.count_nonzero(np.abs(total - 2 * flipped) >= least))


def _interval(sums: _Floats, *, level: float, flips: int) -> Bounds:
    """Between the k-th smallest and the k-th largest mean of what is flipped, k = the flips that half the error allows."""
    k = math.floor((1 - level) / 2 * flips + _ROUNDING)
    if k == 0:
        return -1.0, 1.0
    flipped = sums[sums[:, 1] > 0]  # the choice without a case is what was observed; k leaves room for it
    means = np.sort(flipped[:, 0] / flipped[:, 1])
    return float(means[k - 1]), float(means[-k])


def _choices(cases: int, seed: int) -> _Choices:
    """Returns which cases are flipped, a column for each choice, a bit for each case: all there are, or a seeded sample."""
    if cases <= ENUMERATED:
        return np.arange(2**cases, dtype="<u2").view(np.uint8).reshape(-1, 2).T
    return np.random.default_rng(seed).integers(0, 256, size=(-(-cases // 8), SIMULATED), dtype=np.uint8)


def _chosen_sums(values: _Floats, choices: _Choices) -> _Floats:
    """The column sums of the chosen rows, for each choice: eight rows at a time out of a table of their 256 sums."""
    eights = np.zeros((len(choices) * 8, values.shape[1]))
    eights[: len(values)] = values
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little").astype(np.float64)
    sums = np.zeros((choices.shape[1], values.shape[1]))
    for eight, chosen in zip(eights.reshape(len(choices), 8, -1), choices, strict=True):
        sums += np.take(bits @ eight, chosen, axis=0)
    return sums
