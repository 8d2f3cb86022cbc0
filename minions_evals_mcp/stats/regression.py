"""The documented rule for a benchmark that got worse, in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from minions_evals_mcp.domain.results import Evidence

Gate = Literal["held", "failed", "undecided"]


def fall_gate(evidence: Evidence | None, *, better: int, is_within_noise: bool = False) -> Gate:
    """Returns what a fall of the pass rate means for a gate: it fails on a supported one only.

    A fall is undecided where too few cases changed to decide anything, and every one of them got worse: no number of
    such cases could have failed the gate. Of unchanged builds, at most 5 % end failed or undecided together, at 20 cases
    and more, whatever their pass rate (tests/bench/error_budget.py). Where some cases got better, too, it is noise; so is
    a fall that `calibrate` found between runs of one version.
    """
    if is_within_noise:
        return "held"
    if evidence == "supported":
        return "failed"
    return "undecided" if evidence == "undecidable" and better == 0 else "held"


LOOKED_BACK = 13
"""So many runs are looked at for a slow fall."""
FEWEST_STEPS = 3


def slow_fall(newest_first: Sequence[tuple[int, int]], *, points: float = 10) -> str:
    """Returns how far the pass rate fell in steps of which none is a regression, in words; empty where it did not.

    `newest_first` are the passed and all test-runs of runs that were measured alike. It takes three falls in a row, and more
    than `points` in all.
    """
    rates = [Fraction(passed, total) for passed, total in newest_first]
    steps = next((at for at, (now, before) in enumerate(pairwise(rates)) if now >= before), max(0, len(rates) - 1))
    if steps < FEWEST_STEPS:
        return ""
    fell = (rates[steps] - rates[0]) * 100
    return f"fell {steps} runs in a row by {float(fell):.0f} points in all" if fell > Fraction(str(points)) else ""


def pass_rate_dropped(
    prev_passed: int, prev_total: int, passed: int, total: int, *, points: float = 10, relative: bool = False
) -> bool:
    """Returns whether the pass rate fell by more than `points` percentage points; exactly that many is no drop.

    `relative`: by more than `points` percent of the previous rate. Two runs of which one is empty cannot be compared:
    no drop. `points` counts as the decimal number that it is written as, so that 3.3 is 33/10.
    """
    if not (0 <= prev_passed <= prev_total and 0 <= passed <= total):
        raise ValueError(f"{prev_passed} of {prev_total}, then {passed} of {total}: not two pass rates")
    fall = (prev_passed * total - passed * prev_total) * 100
    base = prev_passed if relative else prev_total
    return fall > Fraction(str(points)) * total * base
