"""Two runs of the same cases: can what changed be told from chance?"""

from __future__ import annotations

import math

from minions_evals_mcp.domain.results import Evidence

FEWEST_CHANGED = 6
"""Fewer changed cases cannot reach p <= .05, whichever way they went: 2 / 2^5 = .0625."""
SIGNIFICANT = 0.05


def fewest_changed(level: float) -> int:
    """The fewest changed cases that can decide anything at that level of confidence: 6 at .95, for 2 / 2^5 = .0625."""
    return math.ceil(1 - math.log2(round(1 - level, 12)))


def mcnemar_exact(b: int, c: int) -> float:
    """The exact two-sided p-value of `b` changes one way and `c` the other, from 0 to 1.

    McNemar 1947, Psychometrika 12:153, with the binomial distribution in whole numbers instead of chi-squared.
    """
    if b < 0 or c < 0:
        raise ValueError(f"changed cases are counted from 0, not {b} and {c}")
    changed = b + c
    ways = term = 1
    for k in range(min(b, c)):
        term = term * (changed - k) // (k + 1)
        ways += term
    return min(1.0, 2 * ways / 2**changed)


def evidence(b: int, c: int) -> Evidence:
    """Returns whether `b` cases that changed one way and `c` the other say more than chance would (contracts, section 8)."""
    p_value = mcnemar_exact(b, c)
    if b + c < FEWEST_CHANGED:
        return "undecidable"
    return "supported" if p_value <= SIGNIFICANT else "within-noise"
