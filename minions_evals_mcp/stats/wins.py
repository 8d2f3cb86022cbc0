"""The test whether one of several contenders wins repeated rounds more often than chance would let it."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

LEVEL = 0.05

WinEvidence = Literal["supported", "within-noise", "undecidable"]


class WinTest(NamedTuple):
    """The probability of so many wins if all contenders were alike, and what that says."""

    p_value: float
    evidence: WinEvidence


def win_test(wins: int, rounds: int, contenders: int) -> WinTest:
    """Returns whether the winner's wins in decided rounds are more than chance: an exact binomial test against 1/k.

    The winner was picked for its wins, so the tail is multiplied by the number k of contenders (Bonferroni 1936); for two
    this is the two-sided sign test (Dixon & Mood 1946, JASA 41:557). Where even a win in every round could not reach
    .05, nothing can be decided.
    """
    if not 0 <= wins <= rounds or contenders < 2:
        raise ValueError(f"{wins} wins of {rounds} rounds among {contenders} cannot be")
    if contenders * (1 / contenders) ** rounds > LEVEL:
        return WinTest(_tail(wins, rounds, contenders), "undecidable")
    p_value = _tail(wins, rounds, contenders)
    return WinTest(p_value, "supported" if p_value <= LEVEL else "within-noise")


def _tail(wins: int, rounds: int, contenders: int) -> float:
    """k · P(X >= wins) for X binomial with 1/k, at most 1: in integers, divided once."""
    ways = sum(math.comb(rounds, won) * (contenders - 1) ** (rounds - won) for won in range(wins, rounds + 1))
    return min(1.0, contenders * ways / contenders**rounds)
