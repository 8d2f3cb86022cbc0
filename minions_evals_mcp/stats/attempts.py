"""One error budget for all attempts to beat the same version: the k-th is decided at .05 · 6 / (π² k²), .05 in all."""

from __future__ import annotations

import math

BUDGET = 0.05
"""So rarely is a version that is no better found to be better or worse, however often it is tried."""
_SHARE = 6 / math.pi**2
"""The squares of 1, 1/2, 1/3, … sum to π²/6 (Euler)."""


def attempt_level(attempt: int) -> float:
    """The error at which the `attempt`-th attempt (from 1) is decided: .0304, .0076, .0034, .0019, …"""
    if attempt < 1:
        raise ValueError(f"attempts are counted from 1, not {attempt}")
    return BUDGET * _SHARE / attempt**2


def fewest_pairs(level: float) -> int:
    """The number of cases without which not even all of them changing one way decides at that error: 2^(1-n) <= level."""
    return math.ceil(1 - math.log2(level))


def sure_words(level: float) -> str:
    """Returns how sure an interval is that leaves so much error, with as many digits as tell it from all: 95 %, 99.81 %, 99.996 %."""
    for digits in range(4, 12):
        shown = f"{100 * (1 - level):.{digits}g}"
        if shown != "100":
            return f"{shown} %"
    return "100 %"
