"""The movement of a score when nothing changed, and whose doing it is: the judge's or the agent's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import Literal

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.student import t_quantile

Label = Literal["stable-pass", "stable-fail", "flaky"]


@frozen_type
class Noise:
    """The variance of one case's score fraction, split by where it comes from, and what that does to a benchmark.

    `judge`: the same output judged again; `agent`: the same version run again, the judge's part taken off; `cases`: the
    cases differ. `floor`: two runs of one and the same version differ by less than this in 95 % (in overall score), the noise itself
    being estimated from few repeats.
    """

    judge: float
    agent: float
    cases: float
    floor: float


def noise(rejudged: Sequence[Sequence[float]], rerun: Sequence[Sequence[float]], *, level: float = 0.95) -> Noise:
    """The split out of `rejudged` (the judgments of one output each) and `rerun` (the runs of one case each).

    Components of variance in a one-way layout with random effects, unequal numbers allowed (Searle, Casella & McCulloch
    1992, Variance Components, chapter 3); one that comes out negative is 0. ValueError where nothing was repeated.
    """
    judged, ran = _one_way(rejudged), _one_way(rerun)
    again = ran.within
    floor = t_quantile((1 + level) / 2, ran.free) * math.sqrt(2 * again / len(rerun))
    return Noise(judged.within, max(0.0, again - judged.within), ran.between, floor)


def stability(passed: Sequence[bool]) -> Label:
    """Returns what at least two runs of one case by the same version say of it."""
    if len(passed) < 2:
        raise ValueError("whether a case is stable shows from its second run on")
    if all(passed):
        return "stable-pass"
    return "flaky" if any(passed) else "stable-fail"


@frozen_type
class _Components:
    within: float
    between: float
    free: int
    """The repeats that say how large `within` is."""


def _one_way(groups: Sequence[Sequence[float]]) -> _Components:
    """The variance within the groups, and that of the groups' true means."""
    sizes = [len(group) for group in groups]
    total, free = sum(sizes), sum(sizes) - len(sizes)
    if min(sizes, default=0) == 0 or free == 0:
        raise ValueError("noise shows only where something was repeated: give each group, one of them twice at least")
    if not all(math.isfinite(score) for group in groups for score in group):
        raise ValueError("a score must be finite; leave out what could not be judged")
    within = (
        math.fsum((size - 1) * variance(group) for size, group in zip(sizes, groups, strict=True) if size > 1) / free
    )
    if len(groups) == 1:
        return _Components(within, 0.0, free)
    centre = math.fsum(map(math.fsum, groups)) / total
    squares = math.fsum(size * (fmean(group) - centre) ** 2 for size, group in zip(sizes, groups, strict=True))
    typical = (total - sum(size**2 for size in sizes) / total) / (len(groups) - 1)
    return _Components(within, max(0.0, (squares / (len(groups) - 1) - within) / typical), free)
