"""The t quantile against scipy's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from minions_evals_mcp.stats.student import incomplete_beta, t_cdf, t_quantile


@pytest.mark.parametrize("freedom", [0.3, 1, 2, 3.7, 30, 1_000, 100_000])
@pytest.mark.parametrize("p", [0.01, 0.25, 0.6, 0.975, 0.995, 0.999999])
def test_a_t_quantile_is_scipys_to_nine_digits(p: float, freedom: float) -> None:
    assert t_quantile(p, freedom) == pytest.approx(float(special.stdtrit(freedom, p)), rel=1e-9)


def test_the_median_of_t_is_zero() -> None:
    assert t_quantile(0.5, 4) == pytest.approx(0, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(x=st.floats(0, 1), a=st.floats(0.1, 500), b=st.floats(0.1, 500))
def test_the_incomplete_beta_function_is_scipys(x: float, a: float, b: float) -> None:
    assert incomplete_beta(x, a, b) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("t", [-40.0, -1.5, 0.0, 0.3, 12.0])
def test_the_two_tails_of_t_add_up_to_one(t: float) -> None:
    assert t_cdf(t, 3) + t_cdf(-t, 3) == pytest.approx(1)
    assert t_cdf(t, 3) == pytest.approx(float(special.stdtr(3, t)), rel=1e-9)


@pytest.mark.parametrize(("x", "a", "b"), [(-0.1, 1, 1), (1.1, 1, 1), (0.5, 0, 1), (0.5, 1, -1), (math.nan, 1, 1)])
def test_arguments_outside_the_beta_function_are_refused(x: float, a: float, b: float) -> None:
    with pytest.raises(ValueError, match="positive a and b"):
        incomplete_beta(x, a, b)


@pytest.mark.parametrize(("p", "freedom"), [(0, 3), (1, 3), (math.nan, 3), (0.9, 0)])
def test_arguments_that_have_no_t_quantile_are_refused(p: float, freedom: float) -> None:
    with pytest.raises(ValueError, match="t quantile"):
        t_quantile(p, freedom)
