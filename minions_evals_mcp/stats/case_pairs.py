"""The measures of the same cases in two versions, and the differences that it makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from minions_evals_mcp.frozen_types import frozen_type

if TYPE_CHECKING:
    from minions_evals_mcp.stats.grouped.design_effect import Layout

DECIMALS = 12
"""Differences count to so many decimals: what differs further down is rounding, and is no change."""
_DUST = 1e-9


@frozen_type
class CasePair:
    """One case measured in both versions: the score fraction (0 to 1) and the pass of each trial.

    `weight` is what the case counts in the overall score: its highest possible score. Cases of one `group` (the turns of
    a conversation, questions on one document) are not independent; "" means that the case is its own group.
    """

    case_id: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    passed_a: tuple[bool, ...]
    passed_b: tuple[bool, ...]
    weight: float = 1.0
    group: str = ""

    @property
    def trials(self) -> int:
        return min(len(self.a), len(self.b))

    @property
    def is_pass_or_fail(self) -> bool:
        """Returns whether each score is 1 for a pass and 0 for a fail."""
        return self.a == tuple(map(float, self.passed_a)) and self.b == tuple(map(float, self.passed_b))

    @property
    def noise(self) -> float | None:
        """Returns how much the mean difference varies from trial to trial; None where a version was tried once."""
        if self.trials < 2:
            return None
        return _error_of_mean(self.a) + _error_of_mean(self.b)


@frozen_type
class CaseDifferences:
    """The amount by which B lies above A in each case, and what the case counts (1 on average).

    `groups` names the group of each case; it is empty where every case is its own group.
    """

    differences: tuple[float, ...]
    shares: tuple[float, ...]
    groups: tuple[str, ...] = ()

    @property
    def cases(self) -> int:
        return len(self.differences)

    def by_group(self) -> CaseDifferences:
        """The differences with one entry for each group: its weighted mean, counting for all of its cases."""
        if not self.groups:
            return self
        sums: dict[str, tuple[float, float]] = {}
        for group, share, difference in zip(self.groups, self.shares, self.differences, strict=True):
            part, total = sums.get(group, (0.0, 0.0))
            sums[group] = part + share * difference, total + share
        scale = len(sums) / self.cases
        return CaseDifferences(
            tuple(round(part / total, DECIMALS) for part, total in sums.values()),
            tuple(total * scale for _, total in sums.values()),
        )

    @property
    def design_effect(self) -> float:
        """The variance of the difference over groups, as a multiple of that over independent cases; at least 1."""
        if not self.groups:
            return 1.0
        from minions_evals_mcp.stats.grouped.design_effect import design_effect  # noqa: PLC0415  most cases have no groups

        layout, counted = self._layout(), self.by_group().shares
        scale = self.cases / len(counted)
        together = math.fsum((share * scale) ** 2 for share in counted)
        return design_effect(layout.correlation, together / math.fsum(share**2 for share in self.shares))

    def _layout(self) -> Layout:
        from minions_evals_mcp.stats.grouped.design_effect import Layout  # noqa: PLC0415  as above

        sums: dict[str, tuple[float, int]] = {}
        for group, difference in zip(self.groups, self.differences, strict=True):
            total, size = sums.get(group, (0.0, 0))
            sums[group] = total + difference, size + 1
        whole = math.fsum(self.differences)
        of_groups = math.fsum(total**2 / size for total, size in sums.values())
        return Layout(
            cases=self.cases,
            groups=len(sums),
            between=_squares(of_groups - whole**2 / self.cases),
            within=_squares(math.fsum(difference**2 for difference in self.differences) - of_groups),
            sizes_squared=sum(size**2 for _, size in sums.values()),
        )

    @property
    def delta(self) -> float:
        """The difference of the two overall figures."""
        parts = (share * d for share, d in zip(self.shares, self.differences, strict=True))
        return round(math.fsum(parts) / self.cases, DECIMALS)

    @property
    def better(self) -> int:
        return sum(d > 0 for d in self.differences)

    @property
    def worse(self) -> int:
        return sum(d < 0 for d in self.differences)

    @property
    def changed(self) -> int:
        return self.better + self.worse

    @property
    def rests(self) -> tuple[float, ...]:
        """Returns what each case adds to the difference beyond the common one; they sum to 0, and their variance is its error."""
        delta = self.delta
        return tuple(share * (d - delta) for share, d in zip(self.shares, self.differences, strict=True))

    @property
    def skewness(self) -> float:
        """The third standardized moment, 0 where the cases do not vary."""
        second = fmean(rest**2 for rest in self.rests)
        return fmean(rest**3 for rest in self.rests) / second**1.5 if second > _DUST**2 else 0.0


def _squares(found: float) -> float:
    """A sum of squares; 0 where rounding is all there is."""
    return found if found > _DUST else 0.0


def score_differences(pairs: Sequence[CasePair]) -> CaseDifferences:
    """Of the cases' mean score fractions, by weight."""
    weight = fmean(pair.weight for pair in pairs)
    differences = tuple(round(fmean(pair.b) - fmean(pair.a), DECIMALS) for pair in pairs)
    shares = tuple(round(pair.weight / weight, DECIMALS) for pair in pairs)
    return CaseDifferences(differences, shares, groups_of(pairs))


def score_means(pairs: Sequence[CasePair]) -> tuple[float, float]:
    """The overall scores of A and B, each case by its weight."""
    weight = math.fsum(pair.weight for pair in pairs)
    a = math.fsum(pair.weight * fmean(pair.a) for pair in pairs) / weight
    b = math.fsum(pair.weight * fmean(pair.b) for pair in pairs) / weight
    return min(1.0, round(a, DECIMALS)), min(1.0, round(b, DECIMALS))


def pass_differences(pairs: Sequence[CasePair]) -> CaseDifferences:
    """Of the cases' shares of passed trials, every case counting once."""
    differences = tuple(round(fmean(pair.passed_b) - fmean(pair.passed_a), DECIMALS) for pair in pairs)
    return CaseDifferences(differences, (1.0,) * len(pairs), groups_of(pairs))


def groups_of(pairs: Sequence[CasePair]) -> tuple[str, ...]:
    """The group of each case; empty where no two cases share one."""
    named = [pair.group for pair in pairs if pair.group]
    if len(set(named)) == len(named):
        return ()
    return tuple(f"group {pair.group}" if pair.group else f"case {pair.case_id}" for pair in pairs)


def _error_of_mean(scores: Sequence[float]) -> float:
    """The variance of the mean; in floats, for `statistics.variance` takes 100 ms for a thousand cases."""
    mean = fmean(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1) / len(scores)


def checked_pairs(pairs: Sequence[CasePair]) -> list[CasePair]:
    """The pairs by case id, so that the order given never matters; ValueError for what cannot be compared."""
    if not pairs:
        raise ValueError("nothing was measured in both versions")
    if len({pair.case_id for pair in pairs}) < len(pairs):
        raise ValueError("a case stands among the pairs twice")
    for pair in pairs:
        _check(pair)
    return sorted(pairs, key=lambda pair: pair.case_id)


def _check(pair: CasePair) -> None:
    if not (len(pair.a) == len(pair.passed_a) > 0 and len(pair.b) == len(pair.passed_b) > 0):
        raise ValueError(f"case {pair.case_id} needs a score and a pass for each trial, and a trial of each version")
    if not all(-_DUST <= score <= 1 + _DUST for score in (*pair.a, *pair.b)):  # NaN is in no range
        raise ValueError(f"case {pair.case_id} has a score that is no fraction from 0 to 1")
    if not 0 < pair.weight < math.inf:
        raise ValueError(f"case {pair.case_id} has a weight of {pair.weight}: weights are above 0")
