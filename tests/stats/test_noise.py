"""The split of noise, against scipy's one-way layout and a simulation with known parts."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minions_evals_mcp.stats.noise import noise, stability

GROUPS = [[0.9, 0.8, 0.85], [0.4, 0.5, 0.3], [0.7, 0.6, 0.8], [0.1, 0.2, 0.15]]


def test_equal_groups_split_as_the_f_statistic_says() -> None:
    f: Any = stats.f_oneway(*GROUPS)
    found = noise([[0.5, 0.5]], GROUPS)
    within = float(np.mean([np.var(group, ddof=1) for group in GROUPS]))
    assert (found.judge, found.agent) == (0, pytest.approx(within, abs=1e-12))
    assert found.cases == pytest.approx((float(f.statistic) - 1) * within / 3, abs=1e-9)
    assert found.floor == pytest.approx(float(stats.t.ppf(0.975, 8)) * math.sqrt(2 * within / 4), abs=1e-9)


def test_what_the_judge_varies_is_taken_off_what_the_runs_vary() -> None:
    draw = np.random.default_rng(3)
    outputs = draw.uniform(0.2, 0.8, (600, 1))
    rejudged = outputs + draw.normal(0, 0.05, (600, 4))
    rerun = draw.normal(0.5, 0.2, (600, 1)) + draw.normal(0, 0.1, (600, 4)) + draw.normal(0, 0.05, (600, 4))
    found = noise(rejudged.tolist(), rerun.tolist())
    assert (found.judge, found.agent) == (pytest.approx(0.0025, rel=0.1), pytest.approx(0.01, rel=0.1))
    assert found.cases == pytest.approx(0.04, rel=0.15)


def test_a_judge_that_varies_more_than_the_runs_leaves_the_agent_nothing() -> None:
    found = noise([[0.1, 0.9], [0.2, 0.8]], [[0.5, 0.5], [0.6, 0.7]])
    assert found.agent == 0
    assert found.judge > found.floor > 0


def test_unequal_groups_weigh_by_their_size() -> None:
    found = noise([[0.4], [0.2, 0.4]], [[0.1], [0.5, 0.7, 0.6], [0.9, 0.7]])
    assert found.judge == pytest.approx(0.02)
    within = (0.02 + 0.02) / 3
    squares = 1 * (0.1 - 3.5 / 6) ** 2 + 3 * (0.6 - 3.5 / 6) ** 2 + 2 * (0.8 - 3.5 / 6) ** 2
    assert found.cases == pytest.approx((squares / 2 - within) / ((6 - 14 / 6) / 2), abs=1e-9)


def test_one_case_has_noise_but_cannot_differ_from_others() -> None:
    assert noise([[0.5, 0.6]], [[0.2, 0.4]]).cases == 0


@pytest.mark.parametrize("nothing", [[], [[]], [[0.5]], [[0.5], [0.6]], [[0.5, 0.6], []]])
def test_what_was_never_repeated_shows_no_noise(nothing: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="where something was repeated"):
        noise(nothing, GROUPS)
    with pytest.raises(ValueError, match="where something was repeated"):
        noise(GROUPS, nothing)


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        noise(GROUPS, [[0.5, math.nan]])


@given(st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=5), min_size=1, max_size=8))
def test_no_part_is_negative_and_no_order_matters(groups: list[list[float]]) -> None:
    found = noise(groups, groups)
    assert min(found.judge, found.agent, found.cases, found.floor) >= 0
    assert noise(groups[::-1], [group[::-1] for group in groups]).floor == pytest.approx(found.floor)


def test_a_case_is_stable_where_all_its_runs_agree_and_flaky_elsewhere() -> None:
    assert stability([True, True, True]) == "stable-pass"
    assert stability([False, False]) == "stable-fail"
    assert stability([True, False, True]) == "flaky"
    with pytest.raises(ValueError, match="second run"):
        stability([True])


@pytest.mark.parametrize(("cases", "repeats"), [(5, 2), (10, 2), (5, 3)])
def test_the_floor_holds_the_difference_of_two_runs_however_few_repeats_showed_it(cases: int, repeats: int) -> None:
    draw = random.Random(cases + repeats)  # noqa: S311  a simulation
    held = 0
    for _ in range(400):
        levels = [draw.uniform(0.3, 0.7) for _ in range(cases)]
        rerun = [[level + draw.gauss(0, 0.1) for _ in range(repeats)] for level in levels]
        rejudged = [[level, level] for level in levels]
        floor = noise(rejudged, rerun).floor
        first, again = (sum(level + draw.gauss(0, 0.1) for level in levels) / cases for _ in range(2))
        held += abs(first - again) <= floor
    assert held >= 0.92 * 400
