"""Looking at a comparison after every case, without the error that looking adds: passes with one trial only.

Under "no difference" the evidence E is a test martingale, so that it ever reaches 100 in at most 1 % of comparisons
(Ville 1939; the mixture over Beta(1/2, 1/2) is that of Robbins 1970, Annals of Mathematical Statistics 41:1397). The
test at the planned end takes 4 %: 5 % in all, however often one looks. The cases must come in random order.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Literal

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.paired import mcnemar_exact

LEVEL = 0.05
WHILE_LOOKING = 0.2
"""The share of the error that is spent on looking: E ever reaches 100 in at most 1 %, and the end is tested at 4 %."""
Decision = Literal["continue", "improved", "regressed", "inconclusive"]


@frozen_type
class InterimAnalysis:
    """The verdict after so many cases: `evidence` is E, `saved` the planned cases that need not be run."""

    decision: Decision
    evidence: float
    p_value: float | None
    saved: int


def look(b: int, c: int, seen: int, planned: int, *, level: float = LEVEL) -> InterimAnalysis:
    """The decision when, of the `seen` first of `planned` cases, `b` gained their pass and `c` lost it.

    `p_value` is exact McNemar's at the planned end, None before it: no p-value holds while one looks. `level` is the
    error in all, however often one looks.
    """
    if min(b, c) < 0 or not (b + c <= seen <= planned and seen > 0):
        raise ValueError(f"{b} gained and {c} lost of {seen} seen, {planned} planned: no state of a comparison")
    evidence = pass_evidence(b, c)
    better: Decision = "improved" if b > c else "regressed"
    p_value = mcnemar_exact(b, c) if seen == planned else None
    if evidence >= 1 / (WHILE_LOOKING * level) or (p_value is not None and p_value <= (1 - WHILE_LOOKING) * level):
        return InterimAnalysis(better, evidence, p_value, planned - seen)
    return InterimAnalysis("continue" if p_value is None else "inconclusive", evidence, p_value, 0)


def deciding_level(evidence: float, p_value: float | None) -> float:
    """The smallest error in all at which that evidence, or that p-value at the planned end, decides; 1 where none does."""
    looking = 1 / (WHILE_LOOKING * evidence) if evidence > 0 else 1.0
    return min(1.0, looking, 1.0 if p_value is None else p_value / (1 - WHILE_LOOKING))


def pass_evidence(b: int, c: int) -> float:
    """E = 2^(b+c) · B(b+1/2, c+1/2) / B(1/2, 1/2): how many times likelier the changes are when their odds are not even."""
    logarithm = (b + c) * math.log(2) + math.lgamma(b + 0.5) + math.lgamma(c + 0.5) - math.lgamma(b + c + 1)
    return math.exp(min(logarithm - math.log(math.pi), 700.0))


def case_order(case_ids: Iterable[str], seed: int) -> Sequence[str]:
    """The cases in the random order in which they must be run to be looked at; the same for the same seed."""
    ordered = sorted(case_ids)
    random.Random(seed).shuffle(ordered)  # noqa: S311  a random order, no secret
    return ordered
