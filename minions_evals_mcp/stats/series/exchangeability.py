"""A change of any figure that is seen one by one, told by an alarm that may be looked at as often as one likes.

As long as the figures are exchangeable (their order says nothing), the rank of each among those before it is uniform (Vovk,
Gammerman & Shafer 2005, Algorithmic Learning in a Random World, 8.1). A bet on each rank multiplies evidence for a change that
begins there. The sum over all beginnings (Shiryaev-Roberts) grows by no more than one a figure where nothing changes, which
bounds the chance of an alarm within a horizon.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

from minions_evals_mcp.frozen_types import frozen_type

HORIZON, ERROR = 3000, 0.05
"""Where nothing changes, an alarm comes within so many figures with at most this probability."""
POWERS = (0.2, 0.4, 0.7)
"""The bets on a high rank: the density of a rank p from the top is power * p ** (power - 1)."""
LEAST_RANK = 1e-6
"""A rank is never smaller, so that no bet is infinite."""


@frozen_type
class Rise:
    """A rise: after how many figures it was seen, at which it most likely began, and the means before and after."""

    seen_at: int
    began_at: int
    before: float
    after: float


def rise(figures: Sequence[float], *, horizon: int = HORIZON, error: float = ERROR, seed: int = 0) -> Rise | None:
    """The first time at which the evidence for a rise reaches the threshold; None where it never does.

    Ties are broken by lot, the same for the same `seed`.
    """
    lot = random.Random(seed)  # noqa: S311  breaks ties
    earlier: list[float] = []
    evidence, best, began = [0.0] * len(POWERS), [0.0] * len(POWERS), [0] * len(POWERS)
    for number, figure in enumerate(figures):
        above = len(earlier) - bisect_right(earlier, figure)
        same = bisect_right(earlier, figure) - bisect_left(earlier, figure) + 1
        rank = max(LEAST_RANK, (above + lot.random() * same) / (len(earlier) + 1))
        insort(earlier, figure)
        for at, power in enumerate(POWERS):
            gain = power * rank ** (power - 1)
            evidence[at] = (1 + evidence[at]) * gain
            if best[at] <= 1:  # the beginning from which the product is largest, as a CUSUM finds it
                best[at], began[at] = 1.0, number
            best[at] *= gain
        if sum(evidence) / len(POWERS) >= horizon / error:
            start = began[max(range(len(POWERS)), key=evidence.__getitem__)]
            return Rise(number + 1, start, _mean(figures[:start]), _mean(figures[start : number + 1]))
    return None


def _mean(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures) if figures else 0.0
