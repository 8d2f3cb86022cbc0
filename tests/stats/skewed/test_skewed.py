"""Quantiles and ratios of skewed figures: exact order statistics, and coverage by simulation."""

from __future__ import annotations

import math
from functools import lru_cache

import pytest
from scipy.stats import binom

from minions_evals_mcp.engine.lift.result import cost_changes
from minions_evals_mcp.report.lifts import cost_line
from minions_evals_mcp.stats.paired_means import paired_ratio
from minions_evals_mcp.stats.skewed.quantiles import quantile_interval
from minions_evals_mcp.store.queries.arm_units import ArmUnit
from tests.bench.verdicts.skewed_figures import SHAPES, coverage


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("size", [1, 5, 6, 15, 72, 73, 100, 400])
def test_an_interval_ends_at_the_outermost_values_that_the_binomial_allows(size: int, share: float) -> None:
    values = [float(number) for number in range(1, size + 1)]
    low, high = quantile_interval(values[::-1], share).interval
    first = max((k for k in range(1, size + 1) if binom.cdf(k - 1, size, share) <= 0.025), default=None)
    last = min((k for k in range(1, size + 1) if binom.sf(k - 1, size, share) <= 0.025), default=None)
    assert (low, high) == (first, last)


def test_trials_of_a_case_are_no_further_cases() -> None:
    cases = [float(number) for number in range(1, 16)]
    trials = [figure for figure in cases for _ in range(4)]
    assert quantile_interval(trials, 0.5, units=15) == quantile_interval(cases, 0.5)
    assert quantile_interval([1.0, 2.0, 3.0, 4.0] * 10, 0.5, units=2).interval == (None, None)
    with pytest.raises(ValueError, match="no quantile"):
        quantile_interval([], 0.5)


def test_a_ratio_is_the_geometric_mean_and_nothing_where_a_case_costs_nothing() -> None:
    doubled = paired_ratio([1.0, 10.0, 100.0], [2.0, 20.0, 200.0])
    assert doubled is not None
    assert doubled.ratio == pytest.approx(2)
    mixed = paired_ratio([1.0, 4.0], [4.0, 1.0])
    assert mixed is not None
    assert mixed.ratio == pytest.approx(1)
    assert paired_ratio([], []) is None
    assert paired_ratio([1.0, 0.0], [1.0, 2.0]) is None
    assert not math.isnan(mixed.p_value)


def arm(seconds: list[float]) -> list[ArmUnit]:
    return [
        ArmUnit(f"c{number}", "c", 1, 1000 * figure, None, 0.0 if number else None, None)
        for number, figure in enumerate(seconds)
    ]


def test_a_lift_tells_how_much_slower_a_typical_case_is_beside_what_it_adds_up_to() -> None:
    without = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 1.3, 30.0]
    seconds, dollars = cost_changes(arm(without), arm([2 * figure for figure in without]))
    assert (seconds.median_without, seconds.median_with) == (pytest.approx(1.05), pytest.approx(2.1))
    assert seconds.ratio == pytest.approx(2)
    assert "medians 1.05 and 2.10, per case ×2.00 (95 %: ×2.00 to ×2.00)" in cost_line(seconds)
    assert (dollars.ratio, dollars.cases) == (None, 7)
    assert "medians" not in cost_line(dollars)


@lru_cache
def shares(shape: str, size: int) -> dict[str, float]:
    return coverage(SHAPES[shape], size, 200, with_bca=False, cases=200_000)


@pytest.mark.parametrize("size", [15, 40])
@pytest.mark.parametrize("shape", ["lognormal", "wild", "ties", "exponential"])
def test_skewed_figures_are_covered(shape: str, size: int) -> None:
    """200 drawn samples: three standard errors below .93; the bench draws more, and measures BCa beside."""
    assert all(share >= 0.88 for share in shares(shape, size).values()), shares(shape, size)
