"""Change-points: where a step is, that noise has none, and that they are the same again."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.stats.series.change_point import changes


def noisy(levels: list[float], spread: float, seed: int) -> list[float]:
    draw = random.Random(seed)  # noqa: S311  a simulation, no secret
    return [level + draw.gauss(0, spread) for level in levels]


def change_points(scores: Sequence[float]) -> tuple[int, ...]:
    return tuple(change.place for change in changes(scores))


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


def test_how_small_a_step_is_seen_after_four_runs_is_fixed() -> None:
    before = [0.80, 0.82, 0.79, 0.81, 0.80, 0.83, 0.78, 0.81, 0.80, 0.82, 0.79, 0.81]
    assert change_points([*before, 0.77, 0.78, 0.76, 0.77]) == ()
    assert changes([*before, 0.76, 0.77, 0.75, 0.76])[0].seen_at == 16


def test_a_level_is_sought_for_eight_runs_and_placed_at_most_two_runs_later_than_it_was_seen() -> None:
    before = [0.80, 0.82, 0.79, 0.81, 0.80, 0.83, 0.78, 0.81, 0.80, 0.82, 0.79, 0.81]
    (slow,) = changes([*before, 0.755, 0.775, 0.795, 0.765, 0.745, 0.775, 0.785, 0.765])
    assert (slow.place, slow.seen_at) == (12, 20)
    slipping = [*before, 0.78, 0.8, 0.77, 0.79, 0.78, 0.75, 0.77, 0.76, 0.75, 0.73, 0.73]
    assert changes(slipping) == (), "a slow slip is a trend, and no level"


def test_a_level_begins_after_a_run_halfway_down() -> None:
    before = [0.79, 0.8, 0.77, 0.78, 0.83, 0.8, 0.84, 0.78, 0.8, 0.78, 0.83, 0.81, 0.82]
    assert change_points([*before, 0.75, 0.7, 0.67, 0.7, 0.7]) == (14,)


def test_a_level_is_never_placed_later_than_three_runs_before_the_last() -> None:
    before = [0.76, 0.8, 0.8, 0.79, 0.84, 0.8, 0.75, 0.83, 0.81, 0.81, 0.77, 0.78]
    assert change_points([*before, 0.64, 0.48, 0.64, 0.17, 0.18]) == (13,)


def test_one_outlier_is_no_level() -> None:
    assert change_points([*noisy([0.8] * 10, 0.02, 3), 0.1, *noisy([0.8] * 10, 0.02, 4)]) == ()


def test_flat_noise_that_is_searched_after_every_run_is_rarely_ever_split() -> None:
    histories = [noisy([0.7] * 30, 0.1, seed) for seed in range(60)]
    split = sum(change_points(scores) != () for scores in histories)  # all looks at each: none takes back what one saw
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


def test_a_level_that_came_and_went_is_two_changes_that_no_later_run_takes_back() -> None:
    scores = noisy([0.8] * 20 + [0.6] * 6 + [0.8] * 20, 0.03, 5)
    found = changes(scores)
    assert [change.place for change in found] == [20, 26]
    assert [change.is_fall for change in found] == [True, False]
    assert [change.seen_at for change in changes(scores[:26])] == [found[0].seen_at]


def resembling(size: int, likeness: float, draw: random.Random) -> list[float]:
    """Scores of deviation .05 that resemble those before them."""
    found = [draw.gauss(0, 0.05)]
    while len(found) < size:
        found.append(likeness * found[-1] + draw.gauss(0, 0.05 * math.sqrt(1 - likeness**2)))
    return [0.8 + rest for rest in found]


def test_flat_histories_whose_runs_resemble_each_other_rarely_fall_and_a_step_is_seen_within_five_runs() -> None:
    draw = random.Random(7)  # noqa: S311  a simulation, no secret
    flat = [any(change.is_fall for change in changes(resembling(50, 0.6, draw))) for _ in range(40)]
    assert sum(flat) <= 6  # 4 % of 40, and three standard errors
    stepped = [
        [*scores[:25], *(score - 0.2 for score in scores[25:])]
        for scores in (resembling(30, 0.6, draw) for _ in range(30))
    ]
    seen = [any(change.is_fall and change.seen_at > 25 for change in changes(scores)) for scores in stepped]
    assert sum(seen) >= 22  # 89 % of 30, less three standard errors
