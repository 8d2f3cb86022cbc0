"""The drop of a pass rate, at its edges."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.stats.paired import evidence
from minions_evals_mcp.stats.regression import fall_gate, pass_rate_dropped, slow_fall


def test_exactly_ten_points_is_no_regression_and_more_is() -> None:
    assert not pass_rate_dropped(8, 10, 7, 10)
    assert pass_rate_dropped(80, 100, 69, 100)
    assert pass_rate_dropped(9, 10, 7, 10)


@pytest.mark.parametrize(
    ("newest_first", "words"),
    [
        ([(31, 40), (34, 40), (37, 40), (40, 40)], "fell 3 runs in a row by 22 points in all"),
        ([(60, 100), (65, 100), (70, 100), (75, 100), (80, 100)], "fell 4 runs in a row by 20 points in all"),
        ([(70, 100), (74, 100), (79, 100), (85, 100), (80, 100)], "fell 3 runs in a row by 15 points in all"),
        ([(90, 100), (95, 100), (99, 100), (100, 100)], ""),
        ([(80, 100), (90, 100), (100, 100)], ""),
        ([(70, 100), (70, 100), (80, 100), (90, 100), (100, 100)], ""),
        ([(1, 1)], ""),
        ([], ""),
    ],
    ids=[
        "three steps",
        "four steps",
        "since the last rise",
        "ten points",
        "two steps",
        "not any more",
        "the first run",
        "no run",
    ],
)
def test_a_fall_in_small_steps_is_said_from_three_steps_and_more_than_ten_points_on(
    newest_first: list[tuple[int, int]], words: str
) -> None:
    assert slow_fall(newest_first) == words


def test_a_rise_is_no_regression() -> None:
    assert not pass_rate_dropped(0, 10, 10, 10)


def test_runs_of_different_sizes_are_compared_by_their_rates() -> None:
    assert not pass_rate_dropped(9, 10, 80, 100)
    assert pass_rate_dropped(9, 10, 79, 100)


@pytest.mark.parametrize("points", [3.3, 0.1, 12.5])
def test_a_fraction_of_a_point_counts_as_it_is_written(points: float) -> None:
    fallen = round(points * 10)
    assert not pass_rate_dropped(1_000, 1_000, 1_000 - fallen, 1_000, points=points)
    assert pass_rate_dropped(1_000, 1_000, 999 - fallen, 1_000, points=points)


def test_a_relative_drop_is_measured_on_the_previous_rate() -> None:
    assert not pass_rate_dropped(50, 100, 45, 100, relative=True)
    assert pass_rate_dropped(50, 100, 44, 100, relative=True)
    assert not pass_rate_dropped(50, 100, 44, 100)
    assert not pass_rate_dropped(0, 100, 0, 100, relative=True)


@pytest.mark.parametrize("relative", [False, True])
def test_an_empty_run_cannot_be_compared(relative: bool) -> None:
    assert not pass_rate_dropped(5, 5, 0, 0, relative=relative)
    assert not pass_rate_dropped(0, 0, 0, 5, relative=relative)


@pytest.mark.parametrize("counts", [(3, 2, 1, 1), (1, 1, 3, 2), (-1, 2, 1, 2), (1, 2, -1, 2)])
def test_counts_that_are_no_pass_rates_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="not two pass rates"):
        pass_rate_dropped(*counts)


RATES = st.tuples(st.integers(1, 60), st.integers(0, 60)).map(lambda pair: (min(pair), pair[0]))


@given(before=RATES, after=RATES, points=st.integers(0, 100))
def test_a_drop_is_what_exact_fractions_say(before: tuple[int, int], after: tuple[int, int], points: int) -> None:
    fall = Fraction(*before) - Fraction(*after)
    assert pass_rate_dropped(*before, *after, points=points) == (fall * 100 > points)
    assert pass_rate_dropped(*before, *after, points=points, relative=True) == (fall * 100 > points * Fraction(*before))


def test_a_gate_fails_on_a_supported_fall_and_is_undecided_where_all_of_too_few_changes_are_for_the_worse() -> None:
    assert fall_gate("supported", better=3) == "failed"
    assert fall_gate("undecidable", better=0) == "undecided"
    assert fall_gate("undecidable", better=1) == "held"
    assert fall_gate("within-noise", better=0) == "held"
    assert fall_gate(None, better=0) == "held"


@pytest.mark.parametrize("passing", [0.5, 0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("cases", [20, 50])
def test_unchanged_builds_end_failed_or_undecided_in_at_most_one_of_twenty(cases: int, passing: float) -> None:
    changes = passing * (1 - passing)  # the chance that a case is lost, and that it is gained, when nothing changed
    ends = 0.0
    for worse in range(cases + 1):
        for better in range(cases + 1 - worse):
            if pass_rate_dropped(worse, cases, better, cases):
                chance = comb(cases, worse) * comb(cases - worse, better) * changes ** (worse + better)
                chance *= (1 - 2 * changes) ** (cases - worse - better)
                ends += chance * (fall_gate(evidence(worse, better), better=better) != "held")
    assert ends <= 0.05
