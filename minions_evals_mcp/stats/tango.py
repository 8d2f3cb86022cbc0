"""The interval of the difference of two pass rates on the same cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from minions_evals_mcp.stats.intervals import Bounds


def tango_interval(gained: int, lost: int, cases: int, *, level: float = 0.95) -> Bounds:
    """The score interval of (gained - lost) / cases, within -1 and 1, where each case was passed or failed twice.

    Tango 1998, Statistics in Medicine 17:891: the differences that the score test with the restricted maximum
    likelihood estimate does not reject; found by bisection, to the last digit.
    """
    if min(gained, lost) < 0 or gained + lost > cases or cases == 0:
        raise ValueError(f"{gained} gained and {lost} lost of {cases} is no change of passes")
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not {level}")
    z = NormalDist().inv_cdf((1 + level) / 2)
    seen = (gained - lost) / cases
    low = _boundary(lambda difference: _score(gained, lost, cases, difference) > z, rejected=-1.0, accepted=seen)
    high = _boundary(lambda difference: _score(gained, lost, cases, difference) < -z, rejected=1.0, accepted=seen)
    return low, high


def _score(gained: int, lost: int, cases: int, difference: float) -> float:
    """Returns how many standard errors the observed difference lies above `difference`."""
    excess = gained - lost - cases * difference
    linear = (2 * cases - gained + lost) * difference - gained - lost
    constant = -lost * difference * (1 - difference)
    losing = (math.sqrt(max(0.0, linear * linear - 8 * cases * constant)) - linear) / (4 * cases)
    variance = cases * (2 * losing + difference * (1 - difference))
    if variance > 0:
        return excess / math.sqrt(variance)
    return math.copysign(math.inf, excess) if excess else 0.0


def _boundary(is_rejected: Callable[[float], bool], *, rejected: float, accepted: float) -> float:
    if not is_rejected(rejected):
        return rejected
    while (middle := (rejected + accepted) / 2) not in (rejected, accepted):
        rejected, accepted = (middle, accepted) if is_rejected(middle) else (rejected, middle)
    return accepted
