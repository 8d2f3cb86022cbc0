"""Intervals against scipy and statsmodels, and at their edges."""

from __future__ import annotations

import importlib
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from minions_evals_mcp.stats.intervals import ScoreSums, score_interval, wilson


def sums_of(scores: list[float], maxima: list[float]) -> ScoreSums:
    return ScoreSums(
        units=len(scores),
        scores=sum(scores),
        maxima=sum(maxima),
        scores_squared=sum(s * s for s in scores),
        scores_by_maxima=sum(s * m for s, m in zip(scores, maxima, strict=True)),
        maxima_squared=sum(m * m for m in maxima),
        scores_squared_per_maximum=sum(s * s / m for s, m in zip(scores, maxima, strict=True) if m),
    )


@pytest.mark.parametrize(("passed", "total"), [(0, 1), (1, 1), (3, 7), (19, 20), (20, 20), (500, 1_000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_a_pass_rates_interval_is_scipys(passed: int, total: int, level: float) -> None:
    theirs: Any = stats.binomtest(passed, total).proportion_ci(confidence_level=level, method="wilson")
    assert wilson(passed, total, level=level) == pytest.approx((float(theirs.low), float(theirs.high)), abs=1e-9)


def test_a_pass_rate_of_nothing_has_no_interval() -> None:
    assert wilson(0, 0) is None


@given(total=st.integers(1, 10_000), share=st.floats(0, 1))
def test_a_pass_rates_interval_holds_the_rate_and_ends_exactly_at_none_and_all(total: int, share: float) -> None:
    passed = round(share * total)
    bounds = wilson(passed, total)
    assert bounds is not None
    low, high = bounds
    assert 0 <= low <= passed / total <= high <= 1
    assert (low == 0) == (passed == 0)
    assert (high == 1) == (passed == total)


@pytest.mark.parametrize(("passed", "total"), [(-1, 3), (4, 3)])
def test_counts_that_are_no_pass_rate_are_refused(passed: int, total: int) -> None:
    with pytest.raises(ValueError, match="is no pass rate"):
        wilson(passed, total)


@pytest.mark.parametrize("level", [0, 1, 95, math.nan])
def test_a_level_outside_zero_and_one_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="confidence level"):
        wilson(1, 2, level=level)
    with pytest.raises(ValueError, match="confidence level"):
        score_interval(sums_of([1, 0], [1, 1]), level=level)


def test_with_equal_maxima_a_scores_interval_is_the_t_interval_of_the_mean() -> None:
    scores = [0.3, 0.5, 0.55, 0.7, 0.42, 0.61]
    theirs: Any = stats.ttest_1samp(scores, 0).confidence_interval(0.9)
    ours = score_interval(sums_of(scores, [1.0] * len(scores)), level=0.9)
    assert ours == pytest.approx((float(theirs.low), float(theirs.high)), abs=1e-9)


def test_with_unequal_maxima_a_scores_variance_is_the_robust_one_of_a_weighted_regression() -> None:
    # Regressing s on m through the origin with weights 1/m gives Σs/Σm, and HC0 its linearized variance.
    linear_model: Any = importlib.import_module("statsmodels.regression.linear_model")
    scores, maxima = [0.9, 2.1, 3.0, 0.2, 1.4, 2.2, 0.0], [1.0, 4.0, 5.0, 0.5, 2.0, 4.0, 1.0]
    fit = linear_model.WLS(scores, maxima, weights=[1 / m for m in maxima]).fit(cov_type="HC0")
    size = sum(maxima) ** 2 / sum(m * m for m in maxima)
    half = float(special.stdtrit(size - 1, 0.975)) * float(fit.bse[0]) * math.sqrt(size / (size - 1))
    centre = float(fit.params[0])
    assert score_interval(sums_of(scores, maxima)) == pytest.approx((centre - half, centre + half), abs=1e-9)


def test_one_unit_has_no_score_interval() -> None:
    assert score_interval(sums_of([0.5], [1])) is None
    assert score_interval(sums_of([], [])) is None


def test_units_that_cannot_score_have_no_interval() -> None:
    assert score_interval(sums_of([0, 0], [0, 0])) is None
    assert score_interval(sums_of([1, 0, 0], [2, 0, 0])) is None


def test_equal_shares_give_their_own_value_whatever_the_rounding() -> None:
    sums = sums_of([0.1 * m for m in range(1, 40)], [float(m) for m in range(1, 40)])
    assert score_interval(sums) == pytest.approx((0.1, 0.1), abs=1e-15)


def test_a_score_interval_stays_within_zero_and_one() -> None:
    assert score_interval(sums_of([0, 1], [1, 1])) == (0.0, 1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_sums_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        score_interval(replace(sums_of([1, 0], [1, 1]), scores_squared=bad))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 10)), min_size=2, max_size=30))
def test_a_score_interval_holds_the_score_and_does_not_depend_on_the_unit_of_points(
    shares: list[tuple[float, float]],
) -> None:
    scores, maxima = [share * m for share, m in shares], [m for _, m in shares]
    bounds = score_interval(sums_of(scores, maxima))
    in_percent = score_interval(sums_of([100 * s for s in scores], [100 * m for m in maxima]))
    assert bounds is not None
    assert bounds[0] - 1e-12 <= sum(scores) / sum(maxima) <= bounds[1] + 1e-12
    assert in_percent == pytest.approx(bounds, abs=1e-6)


def test_a_score_interval_covers_the_true_score_about_as_often_as_it_says() -> None:
    draw = random.Random(20261101)  # noqa: S311 - a simulation, no secret
    held = 0
    for _ in range(1_000):
        maxima = [draw.choice((1.0, 2.0, 5.0)) for _ in range(20)]
        bounds = score_interval(sums_of([m * draw.betavariate(4, 2) for m in maxima], maxima))
        assert bounds is not None
        held += bounds[0] <= 2 / 3 <= bounds[1]
    assert 0.92 <= held / 1_000 <= 0.97  # .939 in 6,000 trials; two standard errors here are .015
