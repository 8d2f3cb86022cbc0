"""Branches of an A/B test over the same cases: means with their intervals, paired differences, and whether a winner is more than luck."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from minions_evals_mcp.stats.comparison import holm
from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.paired import FEWEST_CHANGED
from minions_evals_mcp.stats.student import t_quantile

LEVEL = 0.05


class PairedDifference(NamedTuple):
    """The mean of paired differences with its interval, and the p-value of "there is none"; both adjusted for `tests`."""

    delta: float
    interval: Bounds | None
    p_value: float
    pairs: int


def mean_interval(values: Sequence[float], *, level: float = 0.95) -> Bounds | None:
    """Student's interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    half = t_quantile((1 + level) / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def clipped(interval: Bounds | None, within: Bounds | None) -> Bounds | None:
    """The part of the interval that the figure can reach."""
    if interval is None or within is None:
        return interval
    low, high = within
    return max(low, interval[0]), min(high, interval[1])


class PairedRatio(NamedTuple):
    """The geometric mean of paired ratios with its interval, and the p-value of "it is 1"; both adjusted as differences are."""

    ratio: float
    interval: Bounds | None
    p_value: float
    pairs: int


def paired_ratios(families: Sequence[Sequence[float]]) -> list[PairedRatio | None]:
    """The ratios whose logarithms are given: of times and costs, which are skewed, the logarithms are compared."""

    def raised(log: float) -> float:
        return math.exp(min(700.0, max(-700.0, log)))

    return [
        None
        if made is None
        else PairedRatio(
            raised(made.delta),
            None if made.interval is None else (raised(made.interval[0]), raised(made.interval[1])),
            made.p_value,
            made.pairs,
        )
        for made in paired_differences(families)
    ]


def paired_differences(
    families: Sequence[Sequence[float]], *, within: Bounds | None = None
) -> list[PairedDifference | None]:
    """The differences of several branches from one control, adjusted among each other (Holm 1979; intervals Bonferroni).

    Each family holds one difference for each case; None for one without any. `within`: what a difference can be at all.
    """
    tested = [differences for differences in families if differences]
    adjusted = iter(holm([sign_p(differences) for differences in tested]))
    level = 1 - LEVEL / max(1, len(tested))
    return [
        PairedDifference(
            fmean(family), clipped(mean_interval(family, level=level), within), next(adjusted), len(family)
        )
        if family
        else None
        for family in families
    ]


def sign_p(differences: Sequence[float]) -> float:
    """The two-sided p-value of the sign-flip test that the differences have no direction."""
    most = max((abs(difference) for difference in differences), default=0.0)
    if most == 0:
        return 1.0
    from minions_evals_mcp.stats.sign_flip import sign_flip  # noqa: PLC0415  numpy: slow to import

    return sign_flip([difference / most for difference in differences], [1.0] * len(differences)).p_value


class WinnerTest(NamedTuple):
    """The probability of a winner so far ahead of every other branch where all are alike, and whether so many cases can tell."""

    p_value: float
    decidable: bool


def winner_test(margins: Sequence[Sequence[float]]) -> WinnerTest:
    """Returns whether the winner beats every other branch; `margins` are its per-case leads over each, more is better.

    It was picked for being ahead of all others: its one-sided p-value against the nearest of them counts twice, however many there
    are (Gutmann & Maymin 1987, Annals of Statistics 15:456).
    """
    sided = [_one_sided(leads) for leads in margins]
    decidable = all(sum(lead != 0 for lead in leads) >= FEWEST_CHANGED for leads in margins)
    return WinnerTest(min(1.0, 2 * max(sided, default=1.0)), decidable)


def _one_sided(leads: Sequence[float]) -> float:
    if not leads:
        return 1.0
    two_sided = sign_p(leads)
    return two_sided / 2 if math.fsum(leads) > 0 else 1 - two_sided / 2
