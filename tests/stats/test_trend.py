"""The direction of a window, first match first, and the streak that escalates."""

from __future__ import annotations

import math
import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.domain.results import Direction
from minions_evals_mcp.stats.series.trend import read_series, read_trend, streak_start

DIRECTIONS: tuple[Direction, ...] = ("improving", "degrading", "stable")
FALLING = [0.9, 0.8, 0.7, 0.6, 0.5]
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def times(count: int, direction: Direction) -> list[Direction]:
    return [direction] * count


def test_a_steady_rise_is_improving_and_a_steady_fall_degrading() -> None:
    rising = read_trend(FALLING[::-1])
    assert (rising.direction, rising.s, rising.n) == ("improving", 10, 5)
    assert rising.slope == pytest.approx(0.1)
    assert rising.mean == pytest.approx(0.7)
    assert rising.p_value == pytest.approx(1 / 120)
    falling = read_trend(FALLING)
    assert (falling.direction, falling.s, falling.provisional) == ("degrading", -10, False)
    assert falling.p_value == pytest.approx(1 / 120)
    assert falling.reason == "the last 5 scores move by -0.1 a run (S = -10, p = 0.00833)"


def test_one_pair_out_of_order_is_still_a_direction_and_two_are_not() -> None:
    assert read_trend([0.9, 0.8, 0.6, 0.7, 0.5]).direction == "degrading"
    assert read_trend([0.5, 0.7, 0.6, 0.8, 0.9]).direction == "improving"
    loose = read_trend([0.8, 0.9, 0.6, 0.7, 0.5])
    assert (loose.direction, loose.volatile, loose.s) == ("stable", True, -6)
    assert "a trend needs an S of ±8" in loose.reason


def test_a_spread_within_five_percent_of_the_mean_is_stable_however_regular() -> None:
    reading = read_trend([0.82, 0.815, 0.81, 0.805, 0.8])
    assert (reading.direction, reading.volatile, reading.s) == ("stable", False, -10)
    assert "lie within 0.02" in reading.reason


def test_a_spread_of_exactly_five_percent_is_stable() -> None:
    assert read_trend([0.39, 0.4, 0.4, 0.4, 0.41]).direction == "stable"
    assert read_trend([0.39, 0.395, 0.4, 0.405, 0.41]).direction == "stable"  # spread 0.02 = 0.05 of a mean of 0.4
    assert read_trend([0.389, 0.395, 0.4, 0.405, 0.411]).direction == "improving"


def test_a_drift_is_the_slope_over_the_steps_between_the_scores() -> None:
    reading = read_trend([0.8, 0.81, 0.815, 0.82, 0.845])
    assert (reading.direction, reading.s) == ("stable", 10)
    assert "drift by 0.035 in all (up to 0.0409 is stable)" in reading.reason


@pytest.mark.parametrize("scores", [[0.8, 0.8, 0.1, 0.8, 0.8], [0.9, 0.7, 0.5, 0.7, 0.9]])
def test_one_outlier_or_a_valley_is_no_drift(scores: list[float]) -> None:
    reading = read_trend(scores)
    assert (reading.direction, reading.volatile) == ("stable", False)
    assert "drift by 0 in all" in reading.reason


def test_scores_near_zero_are_held_against_a_band_of_their_own() -> None:
    assert read_trend([0.05, 0.04, 0.03, 0.02, 0.01]).direction == "stable"
    assert read_trend([0.2, 0.0, 0.0, 0.0, 0.0]).direction == "stable"
    assert read_trend([0.11, 0.08, 0.05, 0.006, 0.0]).direction == "degrading"  # mean 0.0492, spread 0.11 > 0.05
    assert read_trend([0.07, 0.06, 0.05, 0.045, 0.04]).direction == "degrading"  # mean 0.053: the band is 0.00265


def test_only_the_last_five_points_count() -> None:
    assert read_trend([0.1, 0.99, 0.2, *FALLING]) == read_trend(FALLING)
    assert read_trend([0.1, *FALLING], window=6).direction == "stable"


def test_a_window_of_another_width_is_read_by_its_own_sum() -> None:
    assert read_trend([*FALLING, 0.4, 0.45], window=7).direction == "degrading"
    assert read_trend(FALLING[:3], window=3).direction == "degrading"


@pytest.mark.parametrize("scores", [[], [0.4], [0.9, 0.1]])
def test_fewer_than_three_points_are_stable_because_they_are_too_few(scores: list[float]) -> None:
    reading = read_trend(scores)
    assert (reading.direction, reading.provisional, reading.volatile) == ("stable", True, False)
    assert (reading.n, reading.slope, reading.p_value) == (len(scores), None, None)
    assert reading.mean == (pytest.approx(sum(scores) / len(scores)) if scores else None)
    assert reading.reason == f"{len(scores)} of the 3 runs that a trend needs"


def test_three_and_four_points_give_a_provisional_direction() -> None:
    assert [(one.direction, one.provisional) for one in read_series(FALLING)] == [
        ("stable", True),
        ("stable", True),
        ("degrading", True),
        ("degrading", True),
        ("degrading", False),
    ]


def test_all_ties_are_stable_and_prove_nothing() -> None:
    reading = read_trend([0.8] * 5)
    assert (reading.direction, reading.s, reading.slope, reading.p_value) == ("stable", 0, 0, 1)


def test_differences_below_a_billionth_are_ties() -> None:
    assert read_trend([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3]).s == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite scores"):
        read_trend([0.5, bad, 0.5])


@pytest.mark.parametrize("window", [2, 13])
def test_a_window_outside_three_and_twelve_is_refused(window: int) -> None:
    with pytest.raises(ValueError, match="3 to 12"):
        read_trend(FALLING, window=window)


@pytest.mark.parametrize("variance", [0, 1, 1.5, -0.1, math.nan])
def test_a_variance_that_is_no_share_is_refused(variance: float) -> None:
    with pytest.raises(ValueError, match="variance"):
        read_trend(FALLING, variance=variance)


@settings(max_examples=60, deadline=None)
@given(scores=SCORES, window=st.integers(3, 12))
def test_a_series_is_the_reading_of_each_of_its_prefixes(scores: list[float], window: int) -> None:
    readings = read_series(scores, window=window)
    assert readings == tuple(read_trend(scores[: end + 1], window=window) for end in range(len(scores)))


@settings(max_examples=60, deadline=None)
@given(SCORES)
def test_a_series_read_backwards_goes_the_other_way(scores: list[float]) -> None:
    turned: dict[Direction, Direction] = {"improving": "degrading", "degrading": "improving", "stable": "stable"}
    reading, mirrored = read_trend(scores, window=12), read_trend(scores[-12:][::-1], window=12)
    assert mirrored.direction == turned[reading.direction]
    assert (mirrored.s, mirrored.p_value) == (-reading.s, reading.p_value)


def test_at_most_5_of_the_120_orders_of_flat_noise_are_degrading() -> None:
    orders = list(permutations([0.3, 0.45, 0.6, 0.75, 0.9]))
    assert sum(read_trend(order).direction == "degrading" for order in orders) == 5
    tied = list(permutations([0.3, 0.3, 0.6, 0.75, 0.9]))
    assert sum(read_trend(order).direction == "degrading" for order in tied) <= 5


def consecutive_degrading(directions: list[Direction]) -> int:
    start = streak_start(directions)
    return 0 if start is None else len(directions) - start


def test_flat_noise_rarely_degrades_and_rarely_three_times_in_a_row() -> None:
    draw = random.Random(20261102)  # noqa: S311 - a simulation, no secret
    falls = windows = escalated = 0
    for _ in range(200):
        directions: list[Direction] = [one.direction for one in read_series([draw.gauss(0.7, 0.1) for _ in range(50)])]
        falls += directions[4:].count("degrading")
        windows += len(directions[4:])
        escalated += any(consecutive_degrading(directions[:end]) == 3 for end in range(5, 51))
    assert falls / windows <= 5 / 120 + 0.01  # about 3 standard errors of 9,200 windows that overlap
    assert escalated / 200 <= 0.075 + 0.05


def test_the_streak_counts_the_newest_degrading_readings() -> None:
    directions = times(5, "stable") + times(3, "degrading")
    assert (consecutive_degrading(directions), streak_start(directions)) == (3, 5)
    assert (consecutive_degrading(directions[:6]), streak_start(directions[:6])) == (1, 5)
    ended = directions + times(1, "improving")
    assert (consecutive_degrading(ended), streak_start(ended)) == (0, None)
    assert (consecutive_degrading([]), streak_start([])) == (0, None)


def test_provisional_readings_count_for_a_streak() -> None:
    falling = times(2, "stable") + times(5, "degrading")
    assert [consecutive_degrading(falling[:end]) for end in range(1, 8)] == [0, 0, 1, 2, 3, 4, 5]
    assert streak_start(falling) == 2


@given(st.lists(st.sampled_from(DIRECTIONS), max_size=15))
def test_a_streak_is_unbroken_and_begins_after_what_is_not_degrading(directions: list[Direction]) -> None:
    count = consecutive_degrading(directions)
    start = streak_start(directions)
    assert start == (len(directions) - count if count else None)
    assert all(one == "degrading" for one in directions[len(directions) - count :])
    first = len(directions) - count
    assert first == 0 or directions[first - 1] != "degrading"


def test_scores_count_to_the_ninth_decimal() -> None:
    assert read_trend([0.5, 0.5 + 2e-10, 0.5 + 4e-10]).s == 0
    assert read_trend([0.5, 0.5 + 2e-9, 0.5 + 4e-9]).s == 3
