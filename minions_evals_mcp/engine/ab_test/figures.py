"""Figures of branches over the cases of an A/B test: intervals, differences from the control, and how sure the lead is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minions_evals_mcp.domain.definitions import TestBranch
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.domain.values import Count, Value
from minions_evals_mcp.scoring.ab import Contender, Criterion, mean_known, merit_of, reaches_quality
from minions_evals_mcp.stats.intervals import Bounds, rate_bounds
from minions_evals_mcp.stats.skewed.quantiles import OpenBounds, QuantileInterval, quantile_interval
from minions_evals_mcp.stats.wins import LEVEL, WinTest

BY_LOGARITHM: frozenset[Criterion] = frozenset({"fastest", "cheapest"})
Units = Mapping[int, Sequence[TestBranchExecution]]
"""A branch's executions that succeeded, by case (by iteration where there is one case)."""
Measure = Callable[[TestBranchExecution], float | None]


class BranchDifference(Value):
    """A branch minus the control over the cases that both have: the mean, its interval, and the p-value (Holm)."""

    delta: float
    interval: Bounds | None
    p_value: float
    pairs: Count


class Ratio(Value):
    """A branch's figure as a multiple of the control's over the cases that both have: the geometric mean, its interval, the p-value."""

    ratio: float
    interval: Bounds | None
    p_value: float
    pairs: Count


class AgainstControl(Value):
    """A branch against the control; None where a figure is not known of both. Passes are shares, 0 to 1.

    Times and costs are skewed: the ratios say which branch is faster or cheaper, the differences of the means what it adds up to.
    """

    passes: BranchDifference | None
    quality: BranchDifference | None
    latency_ms: BranchDifference | None
    cost_usd: BranchDifference | None
    checks: BranchDifference | None = None
    latency_ratio: Ratio | None = None
    cost_ratio: Ratio | None = None


@dataclass(frozen=True, slots=True)
class Spreads:
    """A branch's pass rate (0–100), and the intervals of its figures."""

    pass_rate: float | None
    pass_rate_interval: Bounds | None
    quality: Bounds | None
    latency_ms: Bounds | None
    cost_usd: Bounds | None
    latency_median: QuantileInterval | None
    latency_p95: QuantileInterval | None
    cost_median: QuantileInterval | None
    cost_p95: QuantileInterval | None


def _passes(made: TestBranchExecution) -> float | None:
    return None if made.quality_score is None else float(reaches_quality(made.quality_score))


MEASURES: dict[str, Measure] = {
    "passes": _passes,
    "quality": lambda made: made.quality_score,
    "latency_ms": lambda made: made.latency_ms,
    "cost_usd": lambda made: made.estimated_cost,
    "checks": lambda made: None if made.checks_passed is None else float(made.checks_passed),
}
WITHIN: dict[str, Bounds] = {"passes": (-1.0, 1.0), "quality": (-1.0, 1.0), "checks": (-1.0, 1.0)}
"""The differences that are possible at all."""


def _log(value: float | None) -> float | None:
    return math.log(value) if value is not None and value > 0 else None


LOGS: dict[str, Measure] = {
    "latency_ratio": lambda made: _log(made.latency_ms),
    "cost_ratio": lambda made: _log(made.estimated_cost),
}
"""The logarithms whose differences are ratios."""


PERCENT_DIGITS = 10
"""A share in percent is written to so many digits: 0.55 is 55, not 55.00000000000001."""


def spreads(units: Units) -> Spreads:
    """The intervals of a branch's figures, over its cases."""
    shares = _means(units, _passes)
    passed = [share for made in units.values() if (share := mean_known(map(_passes, made))) is not None]
    rate = mean_known(shares.values())
    return Spreads(
        pass_rate=None if rate is None else round(100 * rate, PERCENT_DIGITS),
        pass_rate_interval=_rate_interval(passed),
        quality=_interval(units, MEASURES["quality"], (0.0, 1.0)),
        latency_ms=_interval(units, MEASURES["latency_ms"], (0.0, math.inf)),
        cost_usd=_interval(units, MEASURES["cost_usd"], (0.0, math.inf)),
        latency_median=_quantile(units, MEASURES["latency_ms"], 0.5),
        latency_p95=_quantile(units, MEASURES["latency_ms"], 0.95),
        cost_median=_quantile(units, MEASURES["cost_usd"], 0.5),
        cost_p95=_quantile(units, MEASURES["cost_usd"], 0.95),
    )


def _quantile(units: Units, measure: Measure, share: float) -> QuantileInterval | None:
    """The quantile over all executions, of which those of one case are one for its interval."""
    known = [[figure for one in made if (figure := measure(one)) is not None] for made in units.values()]
    values = [figure for of_unit in known for figure in of_unit]
    return quantile_interval(values, share, units=sum(map(bool, known))) if values else None


def ends(found: QuantileInterval | None) -> OpenBounds | None:
    """The interval, None where neither end is bounded."""
    return None if found is None or found.interval == (None, None) else found.interval


def _rate_interval(shares: Sequence[float]) -> Bounds | None:
    """The interval of a pass rate in percent: as of a benchmark-run where each case passed or not, else Student's."""
    from minions_evals_mcp.stats.branches import mean_interval  # noqa: PLC0415  numpy: 0.3 s

    if not shares:
        return None
    whole = all(share in {0.0, 1.0} for share in shares)
    interval = rate_bounds(round(sum(shares)), len(shares)) if whole else mean_interval(shares)
    return None if interval is None else (100 * max(0.0, interval[0]), 100 * min(1.0, interval[1]))


def _interval(units: Units, measure: Measure, within: Bounds) -> Bounds | None:
    from minions_evals_mcp.stats.branches import clipped, mean_interval  # noqa: PLC0415  as above

    return clipped(mean_interval(list(_means(units, measure).values())), within)


def _means(units: Units, measure: Measure) -> dict[int, float]:
    """The mean of a figure in each unit where it is known."""
    means = {unit: mean_known(measure(execution) for execution in made) for unit, made in units.items()}
    return {unit: mean for unit, mean in means.items() if mean is not None}


def against_control(branches: Sequence[Record[TestBranch]], units: Mapping[str, Units]) -> dict[str, AgainstControl]:
    """Every branch but the control against it; the control is the one that is marked as such, else the first."""
    from minions_evals_mcp.stats.branches import paired_differences, paired_ratios  # noqa: PLC0415  as above

    control = next((branch.id for branch in branches if branch.fields.is_control), branches[0].id)
    others = [branch.id for branch in branches if branch.id != control]
    found: dict[str, dict[str, Any]] = {ident: {} for ident in others}

    def families(measure: Measure) -> list[list[float]]:
        base = _means(units[control], measure)
        return [
            [mean - base[unit] for unit, mean in _means(units[ident], measure).items() if unit in base]
            for ident in others
        ]

    for name, measure in MEASURES.items():
        tested = paired_differences(families(measure), within=WITHIN.get(name))
        for ident, made in zip(others, tested, strict=True):
            found[ident][name] = None if made is None else BranchDifference(**made._asdict())
    for name, measure in LOGS.items():
        for ident, made in zip(others, paired_ratios(families(measure)), strict=True):
            found[ident][name] = None if made is None else Ratio(**made._asdict())
    return {ident: AgainstControl(**of_branch) for ident, of_branch in found.items()}


def lead_over_cases(units: Mapping[str, Units], winner: str, criterion: Criterion) -> WinTest:
    """Returns whether the winner leads every other branch over the cases by more than chance."""
    from minions_evals_mcp.stats.branches import winner_test  # noqa: PLC0415  as above

    merits = _merits(units, criterion)
    margins = [
        [merits[winner][unit] - merit for unit, merit in of_branch.items() if unit in merits[winner]]
        for ident, of_branch in merits.items()
        if ident != winner
    ]
    test = winner_test(margins)
    evidence = "supported" if test.p_value <= LEVEL else "within-noise"
    return WinTest(test.p_value, evidence if test.decidable else "undecidable")


def _merits(units: Mapping[str, Units], criterion: Criterion) -> dict[str, dict[int, float]]:
    """Returns what each branch is ranked by in each case, among the branches that have a figure there; more is better."""
    places = sorted({place for of_branch in units.values() for place in of_branch})
    merits: dict[str, dict[int, float]] = {ident: {} for ident in units}
    for place in places:
        contenders = [
            Contender(
                ident,
                is_control=False,
                quality=mean_known(execution.quality_score for execution in of_branch[place]),
                latency_ms=mean_known(execution.latency_ms for execution in of_branch[place]) or 0.0,
                cost_usd=mean_known(execution.estimated_cost for execution in of_branch[place]),
                checked=mean_known(map(MEASURES["checks"], of_branch[place])),
            )
            for ident, of_branch in units.items()
            if place in of_branch
        ]
        for ident, merit in merit_of(contenders, criterion).items():
            merits[ident][place] = merit
    if criterion in BY_LOGARITHM:
        return {ident: {unit: _cheap(merit) for unit, merit in by.items()} for ident, by in merits.items()}
    return merits


def _cheap(merit: float) -> float:
    """The merit of a time or cost, which is its negative, by its logarithm: what is skewed is compared as a ratio."""
    return -math.log(-merit) if merit < 0 else 0.0
