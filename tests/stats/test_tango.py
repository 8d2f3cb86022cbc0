"""Tango's interval against a numeric solution of its score equation."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minions_evals_mcp.stats.tango import tango_interval


def root(function: Callable[[float], float], low: float, high: float) -> float:
    optimize: Any = importlib.import_module("scipy.optimize")
    return float(optimize.brentq(function, low, high, xtol=1e-16))


def restricted_loss(gained: int, lost: int, cases: int, difference: float) -> float:
    """The chance of a lost pass that makes the counts likeliest where that is the difference: the likelihood's zero slope."""

    def slope(losing: float) -> float:
        stay = 1 - 2 * losing - difference
        return gained / (losing + difference) + lost / losing - 2 * (cases - gained - lost) / stay

    return root(slope, max(0.0, -difference) + 1e-14, (1 - difference) / 2 - 1e-14)


def standardized(difference: float, gained: int, lost: int, cases: int) -> float:
    losing = restricted_loss(gained, lost, cases, difference)
    return (gained - lost - cases * difference) / math.sqrt(cases * (2 * losing + difference * (1 - difference)))


@pytest.mark.parametrize(("gained", "lost", "cases"), [(3, 1, 10), (9, 2, 20), (5, 5, 50), (40, 61, 500), (1, 7, 9)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_ends_solve_the_score_equation(gained: int, lost: int, cases: int, level: float) -> None:
    z = float(stats.norm.ppf((1 + level) / 2))
    low, high = tango_interval(gained, lost, cases, level=level)
    seen = (gained - lost) / cases

    def end(z: float) -> float:
        return root(lambda d: standardized(d, gained, lost, cases) + z, seen, math.copysign(1 - 1e-9, z))

    assert (low, high) == pytest.approx((end(-z), end(z)), abs=1e-9)


@pytest.mark.parametrize("cases", [1, 6, 20, 300])
def test_where_nothing_changed_the_interval_is_z2_over_n_plus_z2_either_way(cases: int) -> None:
    z2 = float(stats.norm.ppf(0.975)) ** 2
    half = z2 / (cases + z2)
    assert tango_interval(0, 0, cases) == pytest.approx((-half, half), abs=1e-9)


def test_where_every_case_gained_the_interval_reaches_one() -> None:
    low, high = tango_interval(20, 0, 20)
    assert high == 1
    assert 0.6 < low < 0.7


@given(gained=st.integers(0, 60), lost=st.integers(0, 60), same=st.integers(0, 60))
def test_the_interval_holds_what_was_seen_and_turns_with_it(gained: int, lost: int, same: int) -> None:
    cases = gained + lost + same
    if cases == 0:
        return
    low, high = tango_interval(gained, lost, cases)
    assert -1 <= low <= (gained - lost) / cases <= high <= 1
    assert tango_interval(lost, gained, cases) == pytest.approx((-high, -low), abs=1e-9)


@given(gained=st.integers(1, 40), lost=st.integers(0, 40), same=st.integers(1, 40))
def test_a_case_more_that_gained_its_pass_moves_the_interval_up(gained: int, lost: int, same: int) -> None:
    before = tango_interval(gained, lost, gained + lost + same)
    after = tango_interval(gained + 1, lost, gained + lost + same)
    assert after[0] > before[0]
    assert after[1] >= before[1]


@pytest.mark.parametrize(("gained", "lost", "cases"), [(-1, 0, 3), (0, -1, 3), (2, 2, 3), (0, 0, 0)])
def test_counts_that_are_no_change_of_passes_are_refused(gained: int, lost: int, cases: int) -> None:
    with pytest.raises(ValueError, match="no change of passes"):
        tango_interval(gained, lost, cases)


def test_a_level_outside_zero_and_one_is_refused() -> None:
    with pytest.raises(ValueError, match="confidence level"):
        tango_interval(1, 1, 3, level=95)
