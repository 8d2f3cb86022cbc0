"""One error budget for all attempts to beat the same version: the k-th is decided at .05 · 6 / (π² k²), .05 in all.

The benchmarks on which one candidate is compared are one family. The family is one attempt for each of `FAMILY_STEPS` that its
size reaches. At its last attempt's level Holm's method decides over its benchmarks, so that their order does not matter.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable

BUDGET = 0.05
"""So rarely is a version that is no better found to be better or worse, however often it is tried."""
_SHARE = 6 / math.pi**2
"""The squares of 1, 1/2, 1/3, … sum to π²/6 (Euler)."""
FAMILY_STEPS = (1, 2, 4, 10, 26, 69, 186, 504, 1369, 3720, 10111)
"""The sizes at which a growing family is one more attempt. Between two steps the reciprocals of its sizes sum to 1 at most.

So a family that grows one benchmark at a time, each result being seen, errs at most as often as its attempts allow.
"""


def family_attempts(benchmarks: int) -> int:
    """The number of attempts that a family of so many benchmarks is."""
    return bisect_right(FAMILY_STEPS, benchmarks)


def attempts_spent(compared: Iterable[tuple[Hashable, Hashable]]) -> int:
    """The number of attempts that comparisons (candidate, benchmark) are together; their order does not matter.

    A candidate's first comparisons on its benchmarks are one family, its second ones the next.
    """
    rounds: defaultdict[tuple[Hashable, int], int] = defaultdict(int)
    for (candidate, _), times in Counter(compared).items():
        for number in range(times):
            rounds[candidate, number] += 1
    return sum(map(family_attempts, rounds.values()))


def attempt_level(attempt: int) -> float:
    """The error at which the `attempt`-th attempt (from 1) is decided: .0304, .0076, .0034, .0019, …"""
    if attempt < 1:
        raise ValueError(f"attempts are counted from 1, not {attempt}")
    return BUDGET * _SHARE / attempt**2


def sure_words(level: float) -> str:
    """Returns how sure an interval is that leaves so much error, with as many digits as tell it from all: 95 %, 99.81 %, 99.996 %."""
    for digits in range(4, 12):
        shown = f"{100 * (1 - level):.{digits}g}"
        if shown != "100":
            return f"{shown} %"
    return "100 %"
