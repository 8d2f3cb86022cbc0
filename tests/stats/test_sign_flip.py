"""The sign-flip test against scipy's permutation test, and its interval against the test itself."""

from __future__ import annotations

import importlib
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.stats.sign_flip import SIMULATED, sign_flip

MIXED = [0.3, -0.1, 0.25, 0.05, 0.4, -0.02, 0.11]
TIED = [0.5, -0.5, 0.5, 0.5, 0.0, -0.5, 0.5, 0.5, 0.0]
LONG = [0.31, -0.12, 0.27, 0.05, 0.44, -0.02, 0.13, 0.2, -0.3, 0.6, 0.07, -0.09, 0.15, 0.22]
DIFFERENCES = st.lists(st.integers(-20, 20).map(lambda k: k / 20), min_size=1, max_size=10)


def scipys(differences: list[float], weights: list[float]) -> float:
    parts = np.array(differences) * np.array(weights)
    stats: Any = importlib.import_module("scipy.stats")
    found = stats.permutation_test((parts,), np.sum, permutation_type="samples", n_resamples=10**9)
    return float(found.pvalue)


@pytest.mark.parametrize("differences", [MIXED, TIED, LONG])
def test_the_exact_p_value_is_scipys(differences: list[float]) -> None:
    same = [1.0] * len(differences)
    assert sign_flip(differences, same).p_value == pytest.approx(scipys(differences, same), abs=1e-9)
    weights = [1.0 + number % 3 for number in range(len(differences))]
    assert sign_flip(differences, weights).p_value == pytest.approx(scipys(differences, weights), abs=1e-9)


def test_unchanged_cases_are_no_flips_so_that_16_changed_ones_are_exact_among_any_number() -> None:
    among = sign_flip([*LONG, *[0.0] * 200], [1.0] * (len(LONG) + 200))
    assert (among.p_value, among.doubt) == (sign_flip(LONG, [1.0] * len(LONG)).p_value, 0)


def test_a_simulated_p_value_is_near_the_exact_one_and_says_how_near() -> None:
    draw = np.random.default_rng(5)
    differences = [float(d) for d in draw.normal(0.1, 0.25, 17).clip(-1, 1)]
    simulated = sign_flip(differences, [1.0] * 17)
    assert 0 < simulated.doubt < 0.011
    signs = 2 * ((np.arange(2**17)[:, np.newaxis] >> np.arange(17)) & 1) - 1
    exact = float(np.mean(np.abs(signs @ np.array(differences)) >= abs(sum(differences)) - 1e-12))
    assert abs(simulated.p_value - exact) <= 2 * simulated.doubt


def test_a_simulated_p_value_is_never_zero() -> None:
    assert sign_flip([0.5] * 40, [1.0] * 40).p_value == pytest.approx(1 / (1 + SIMULATED), abs=1e-12)


def test_nothing_changed_has_a_p_value_of_one() -> None:
    found = sign_flip([0.0] * 30, [1.0] * 30)
    assert (found.p_value, found.interval) == (1, (0, 0))


@pytest.mark.parametrize("n", [6, 16, 17, 200])
def test_constant_differences_have_themselves_as_interval_whatever_the_weights(n: int) -> None:
    weights = [1.0 + number % 4 for number in range(n)]
    assert sign_flip([0.3] * n, weights).interval == pytest.approx((0.3, 0.3), abs=1e-12)


@pytest.mark.parametrize("n", range(1, 6))
def test_fewer_than_six_cases_bound_nothing(n: int) -> None:
    found = sign_flip([0.3] * n, [1.0] * n)
    assert found.interval == (-1, 1)
    assert found.p_value == pytest.approx(2 / 2**n)


def test_six_cases_have_the_smallest_and_the_largest_difference_as_ends() -> None:
    assert sign_flip([0.1, 0.4, -0.2, 0.3, 0.0, 0.2], [1.0] * 6).interval == pytest.approx((-0.2, 0.4), abs=1e-12)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("weights", [[1.0] * 8, [1.0, 2.0, 1.0, 5.0, 3.0, 1.0, 2.0, 1.0]])
def test_the_exact_interval_is_what_the_test_does_not_reject(level: float, weights: list[float]) -> None:
    differences = [0.31, -0.12, 0.27, 0.05, 0.44, -0.02, 0.13, 0.2]
    low, high = sign_flip(differences, weights, level=level).interval

    def rejected(mean: float) -> bool:
        rests = [w * (d - mean) for w, d in zip(weights, differences, strict=True)]
        sums = [abs(sum(s * r for s, r in zip(signs, rests, strict=True))) for signs in product((1, -1), repeat=8)]
        return sum(found >= abs(sum(rests)) - 1e-12 for found in sums) / 2**8 <= 1 - level

    assert [rejected(low - 1e-6), rejected(low + 1e-6)] == [True, False]
    assert [rejected(high - 1e-6), rejected(high + 1e-6)] == [False, True]


@settings(max_examples=60, deadline=None)
@given(DIFFERENCES)
def test_exact_answers_agree_with_each_other_and_turn_with_the_signs(differences: list[float]) -> None:
    weights = [1.0] * len(differences)
    found = sign_flip(differences, weights)
    turned = sign_flip([-d for d in differences], weights)
    low, high = found.interval
    assert (turned.p_value, turned.interval) == (found.p_value, pytest.approx((-high, -low), abs=1e-12))
    assert low - 1e-12 <= float(np.mean(differences)) <= high + 1e-12
    assert (found.p_value <= 0.05) == (low > 1e-12 or high < -1e-12)


def test_a_seed_gives_the_same_answer_again_and_another_seed_another() -> None:
    differences = [float(d) for d in np.random.default_rng(2).normal(0.05, 0.3, 40).clip(-1, 1)]
    first = sign_flip(differences, [1.0] * 40, seed=1)
    assert sign_flip(differences, [1.0] * 40, seed=1) == first
    assert sign_flip(differences, [1.0] * 40, seed=2) != first
