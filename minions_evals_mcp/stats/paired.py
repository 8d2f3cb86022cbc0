"""Two runs of the same cases: can what changed be told from chance?"""

from __future__ import annotations

import math
from array import array
from statistics import NormalDist
from typing import Literal

from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.frozen_types import frozen_type

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


MOST_FLIPPED = 2000
"""Beyond this many changes the sum of signs is normal to more digits than a simulation shows."""
_DUST = 1e-9


class SignedChanges:
    """The changes of one figure, case by case or group by group, of which a sign-flip test asks whether they are chance.

    Holds up to `MOST_FLIPPED` of them, and sums beyond, so that runs of a million cases take no more room than small ones.
    """

    __slots__ = ("_groups", "_held", "_squares", "_total", "changed")

    def __init__(self) -> None:
        self.changed = 0
        self._held, self._total, self._squares = array("d"), 0.0, 0.0
        self._groups: dict[str, float] = {}

    def add(self, change: float, group: str | None = None) -> None:
        """Adds the change of a case; those of one group are added up first, for they are not independent."""
        if group is not None:
            self._groups[group] = self._groups.get(group, 0.0) + change
        elif abs(change) > _DUST:
            self._count(change)

    def _count(self, change: float) -> None:
        self.changed += 1
        self._total += change
        self._squares += change * change
        if self.changed <= MOST_FLIPPED:
            self._held.append(change)

    def tested(self) -> ChangeTest:
        """The test over all changes that were added."""
        whole = SignedChanges()
        for change in (*self._held, *(part for part in self._groups.values() if abs(part) > _DUST)):
            whole._count(change)
        if self.changed > MOST_FLIPPED:
            whole.changed += self.changed - MOST_FLIPPED
            whole._total, whole._squares = (
                whole._total + self._total - sum(self._held),
                whole._squares + self._squares - sum(change * change for change in self._held),
            )
        return ChangeTest(whole.changed, whole._total, whole._p_value(), is_grouped=bool(self._groups))

    def _p_value(self) -> float:
        if not self.changed:
            return 1.0
        if self.changed > MOST_FLIPPED:
            return 2 * (1 - NormalDist().cdf(abs(self._total) / math.sqrt(self._squares)))
        largest, smallest = max(map(abs, self._held)), min(map(abs, self._held))
        if largest - smallest <= _DUST:
            rose = sum(change > 0 for change in self._held)
            return mcnemar_exact(rose, self.changed - rose)
        from minions_evals_mcp.stats.sign_flip import sign_flip  # noqa: PLC0415  numpy: 0.3 s that passes do not need

        return sign_flip([change / largest for change in self._held], [1.0] * self.changed).p_value


@frozen_type
class ChangeTest:
    """The number of changes, their sum, and the two-sided p-value of the sign-flip test (exact McNemar's for passes)."""

    changed: int
    total: float
    p_value: float
    is_grouped: bool = False

    @property
    def is_fall(self) -> bool:
        """Returns whether the figure fell by more than chance, by however little."""
        return self.total < 0 and self.p_value <= SIGNIFICANT

    @property
    def evidence(self) -> Evidence:
        """Returns whether the changes say more than chance would."""
        if self.changed < FEWEST_CHANGED:
            return "undecidable"
        return "supported" if self.p_value <= SIGNIFICANT else "within-noise"


FallOf = Literal["passes", "scores"]
