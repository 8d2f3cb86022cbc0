"""By how much does a cost (tokens, seconds) differ between two arms on the same cases?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.paired import FEWEST_CHANGED

if TYPE_CHECKING:
    from minions_evals_mcp.stats.branches import PairedRatio


@dataclass(frozen=True, slots=True)
class PairedMeans:
    """The means of both arms and of the differences, B minus A, in the unit measured; `interval` is None under six pairs."""

    a: float
    b: float
    delta: float
    interval: Bounds | None
    p_value: float | None
    cases: int


def paired_means(a: Sequence[float], b: Sequence[float], *, level: float = 0.95) -> PairedMeans | None:
    """The paired comparison of two equally long rows; None where there is no pair.

    The interval inverts the sign-flip test (`sign_flip`), which asks for differences within -1 and 1: they are scaled by
    the largest.
    """
    differences = [after - before for before, after in zip(a, b, strict=True)]
    cases = len(differences)
    if not cases:
        return None
    means = sum(a) / cases, sum(b) / cases
    if cases < FEWEST_CHANGED:
        return PairedMeans(*means, means[1] - means[0], None, None, cases)
    largest = max(map(abs, differences)) or 1.0
    from minions_evals_mcp.stats.sign_flip import sign_flip  # noqa: PLC0415  numpy: 0.3 s that only this needs

    flipped = sign_flip([difference / largest for difference in differences], [1.0] * cases, level=level)
    low, high = (end * largest for end in flipped.interval)
    return PairedMeans(*means, means[1] - means[0], (low, high), flipped.p_value, cases)


def paired_ratio(a: Sequence[float], b: Sequence[float]) -> PairedRatio | None:
    """The geometric mean of B over A with its interval; None where there is no pair, or a figure is not above nothing."""
    if not a or min(*a, *b) <= 0:
        return None
    from minions_evals_mcp.stats.branches import paired_ratios  # noqa: PLC0415  numpy: 0.3 s that only this needs

    (made,) = paired_ratios([[math.log(after / before) for before, after in zip(a, b, strict=True)]])
    return made
