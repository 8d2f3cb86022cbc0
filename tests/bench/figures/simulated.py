"""Simulated comparisons whose true difference is known, and how often they must be found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from minions_evals_mcp.stats.case_pairs import CasePair
from minions_evals_mcp.stats.paired import mcnemar_exact
from minions_evals_mcp.stats.student import t_quantile

Kind = Literal["binary", "graded", "skewed"]
SPREAD = 6.0
"""A graded score varies so many times less than a pass does: a Beta distribution of concentration 5."""
STEP, LONGEST = 0.08, 6.0


@dataclass(frozen=True, slots=True)
class Population:
    """Cases whose chance of passing in A is uniform on 0 to 1; B turns a share `gain` of A's failures into passes.

    Graded: the chance is the mean of the score instead. Skewed: every difference is an exponential step less its mean.
    """

    kind: Kind
    cases: int
    trials: int
    gain: float = 0.0

    @property
    def truth(self) -> float:
        """The difference of the overall scores over all cases there could be."""
        return -STEP * math.exp(-LONGEST) if self.kind == "skewed" else self.gain / 2

    @property
    def variance(self) -> float:
        """Of one case's difference: what the cases vary, and the trials' part over their number."""
        g = self.gain
        noise = (1 / 6 + (1 - g) * (1 / 6 + g / 3)) / self.trials
        return g * g / 12 + (noise / SPREAD if self.kind == "graded" else noise)

    def pairs(self, draw: np.random.Generator) -> list[CasePair]:
        """One comparison of these many cases."""
        if self.kind == "skewed":
            steps = STEP * (np.minimum(draw.exponential(size=(self.cases, 1)), LONGEST) - 1)
            return _case_pairs(np.full((self.cases, 1), 0.5), 0.5 + steps)
        chance = draw.random(self.cases)
        return _case_pairs(self._scores(draw, chance), self._scores(draw, chance + self.gain * (1 - chance)))

    def _scores(self, draw: np.random.Generator, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        size = (self.trials, self.cases)
        if self.kind == "binary":
            return (draw.random(size) < chance).astype(np.float64).T
        return draw.beta((SPREAD - 1) * chance + 1e-9, (SPREAD - 1) * (1 - chance) + 1e-9, size).T

    def power(self) -> float:
        """How often that gain must be found: exactly for passes tried once, else that of Student's t on normal differences."""
        if self.kind == "binary" and self.trials == 1:
            return self._mcnemar_power()
        free = self.cases - 1
        return float(stats.nct.sf(t_quantile(0.975, free), free, self.truth / math.sqrt(self.variance / self.cases)))

    def _mcnemar_power(self) -> float:
        lost = (1 - self.gain) / 6
        gained = self.truth + lost
        found = 0.0
        for changed in range(self.cases + 1):
            chance = _binomial(self.cases, changed, gained + lost)
            better = (b for b in range(changed // 2 + 1, changed + 1) if mcnemar_exact(b, changed - b) <= 0.05)
            found += chance * sum(_binomial(changed, b, gained / (gained + lost)) for b in better)
        return found


def _binomial(n: int, k: int, p: float) -> float:
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def _case_pairs(a: NDArray[np.float64], b: NDArray[np.float64]) -> list[CasePair]:
    rows = zip(a.tolist(), b.tolist(), (a >= 0.5).tolist(), (b >= 0.5).tolist(), strict=True)
    return [
        CasePair(f"{number:04d}", tuple(of_a), tuple(of_b), tuple(passed_a), tuple(passed_b))
        for number, (of_a, of_b, passed_a, passed_b) in enumerate(rows)
    ]
