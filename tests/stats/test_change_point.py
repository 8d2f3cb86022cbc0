"""Change-points: where a step is, that noise has none, and that they are the same again."""

from __future__ import annotations

import math
import random
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.stats.change_point import change_points


def noisy(levels: list[float], spread: float, seed: int) -> list[float]:
    draw = random.Random(seed)  # noqa: S311  a simulation, no secret
    return [level + draw.gauss(0, spread) for level in levels]


def test_a_step_is_found_where_it_is() -> None:
    assert change_points(noisy([0.8] * 12 + [0.5] * 10, 0.03, 1)) == (12,)


def test_two_steps_are_found_oldest_first() -> None:
    assert change_points(noisy([0.8] * 15 + [0.5] * 15 + [0.7] * 15, 0.02, 2)) == (15, 30)


@pytest.mark.parametrize("scores", [[], [0.5], [0.9] * 5 + [0.1] * 6])
def test_below_twelve_points_nothing_is_sought(scores: list[float]) -> None:
    assert change_points(scores) == ()


def test_twelve_points_are_enough_for_a_clear_step() -> None:
    assert change_points([0.9, 0.91, 0.89, 0.9, 0.92, 0.9, 0.5, 0.51, 0.49, 0.5, 0.52, 0.5]) == (6,)


def test_equal_scores_never_changed() -> None:
    assert change_points([0.7] * 40) == ()
    assert change_points([0.1 + 0.2, 0.3] * 20) == ()


def test_one_outlier_is_no_level() -> None:
    assert change_points([*noisy([0.8] * 10, 0.02, 3), 0.1, *noisy([0.8] * 10, 0.02, 4)]) == ()


def test_flat_noise_that_is_searched_after_every_run_is_rarely_ever_split() -> None:
    histories = [noisy([0.7] * 30, 0.1, seed) for seed in range(60)]
    split = sum(any(change_points(scores[:end]) for end in range(12, 31)) for scores in histories)
    assert split / 60 <= 0.05 + 0.06  # two standard errors of 60


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        change_points([0.5] * 20 + [math.nan])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 100).map(lambda k: k / 100), min_size=12, max_size=40))
def test_change_points_leave_three_points_between_them_and_repeat(scores: list[float]) -> None:
    found = change_points(scores)
    assert found == change_points(scores) == tuple(sorted(set(found)))
    ends = (0, *found, len(scores))
    assert all(later - earlier >= 3 for earlier, later in pairwise(ends))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 100).map(lambda k: k / 100), min_size=12, max_size=30))
def test_neither_the_height_nor_the_unit_of_the_scores_matters(scores: list[float]) -> None:
    if any(0 < abs(a - b) < 1e-6 for a, b in combinations(scores, 2)):
        return
    assert change_points([0.5 * score + 0.25 for score in scores]) == change_points(scores)
