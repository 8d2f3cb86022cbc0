"""A gate on a figure: the limit is reached, missed beyond chance, or missed within chance."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.regression import Gate

Undecided = Literal["pass", "fail"]
"""What a gate that cannot be decided becomes, where somebody says so."""
SLACK = 1e-9
MOST_CASES = 100_000
"""More than this is no advice."""


@frozen_type
class Limit:
    """A figure from 0 to 1 beside the limit that it is to reach.

    `gate`: held where the figure reaches the limit, failed where its whole interval lies below it, else undecided. `cases_needed`
    is the number of cases in all at which the interval would lie below the limit if the figure stayed as it is; None where the
    gate is decided, or where that number is no advice.
    """

    figure: float
    limit: float
    interval: Bounds | None
    gate: Gate
    cases_needed: int | None = None


def limit_gate(figure: float, interval: Bounds | None, limit: float, *, cases: int, literal: bool = False) -> Limit:
    """The gate on a figure of so many cases; `literal` compares the figure alone."""
    if figure >= limit - SLACK:
        return Limit(figure, limit, interval, "held")
    if literal or (interval is not None and interval[1] < limit - SLACK):
        return Limit(figure, limit, interval, "failed")
    return Limit(figure, limit, interval, "undecided", _cases_needed(figure, interval, limit, cases))


def _cases_needed(figure: float, interval: Bounds | None, limit: float, cases: int) -> int | None:
    """Intervals narrow with the square root of the number of cases.

    That of a pass rate is as wide as the rate at its end is uncertain (Wilson), which counts where that is more at the limit.
    """
    if interval is None or cases < 1 or limit >= 1:
        return None
    upper, at_limit = interval[1], limit * (1 - limit)
    narrower = ((upper - figure) / (limit - figure)) ** 2
    of_rate = at_limit / (upper * (1 - upper)) if 0 < upper < 1 else math.inf
    alone = NormalDist().inv_cdf(0.975) ** 2 * at_limit / (limit - figure) ** 2
    needed = math.ceil(alone if math.isinf(of_rate) else cases * narrower * max(1.0, of_rate))
    return max(cases + 1, needed) if needed <= MOST_CASES else None


@frozen_type
class NonInferiority:
    """The answer whether a new version is worse by no more than a margin, at 97.5 % one-sided.

    `gate`: held where the whole interval of the difference lies above -margin, failed where it lies below, else undecided.
    """

    margin: float
    interval: Bounds
    gate: Gate
    cases_needed: int | None = None


def non_inferiority(
    delta: float, interval: Bounds, margin: float, *, cases: int, held_with_missing: bool = True
) -> NonInferiority:
    """The gate on a difference of so many cases; `held_with_missing`: it holds with missing outputs as failures, too."""
    if interval[0] > -margin - SLACK:
        return NonInferiority(margin, interval, "held" if held_with_missing else "undecided")
    if interval[1] < -margin + SLACK:
        return NonInferiority(margin, interval, "failed")
    room = delta + margin
    needed = math.ceil(cases * ((delta - interval[0]) / room) ** 2) if room > SLACK else MOST_CASES + 1
    return NonInferiority(margin, interval, "undecided", max(cases + 1, needed) if needed <= MOST_CASES else None)


def settled(gate: Gate, undecided: Undecided | None) -> Gate:
    """The gate once somebody said what becomes of one that is undecided."""
    if gate != "undecided" or undecided is None:
        return gate
    return "held" if undecided == "pass" else "failed"
