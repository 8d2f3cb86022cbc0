"""pass^k and pass@k: as counted over all draws of k trials, and as a run of several trials reports them."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest

from minions_evals_mcp.engine.answers.readings.repeated_trials import Reliability
from minions_evals_mcp.stats.intervals import grouped_pass_rate
from minions_evals_mcp.stats.nested.repeated_trials import all_pass, any_passes

CASES = [(4, 4), (4, 2), (4, 1), (4, 0), (3, 2)]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_both_are_the_shares_over_all_draws_of_k_trials(k: int) -> None:
    drawn = [
        [*combinations([True] * passed + [False] * (judged - passed), k)] for judged, passed in CASES if judged >= k
    ]
    assert all_pass(CASES, k) == pytest.approx(fmean(fmean(map(all, draws)) for draws in drawn))
    assert any_passes(CASES, k) == pytest.approx(fmean(fmean(map(any, draws)) for draws in drawn))


def test_nothing_is_known_of_more_trials_than_a_case_had() -> None:
    assert all_pass([(2, 1)], 3) is None
    assert any_passes([], 1) is None


def test_many_trials_are_said_by_the_first_and_the_last() -> None:
    shares = tuple(1 / k for k in range(1, 11))
    said = Reliability(trials=10, cases=7, all_pass=shares, any_passes=shares[::-1], interval=(0.0, 0.4)).sentence
    assert "pass^4 25.0 %, pass^10 10.0 %" in said
    assert "pass@10 100.0 %" in said


def test_cases_that_belong_together_count_as_one_in_the_interval() -> None:
    """Ten documents of twenty questions, each document all right or all wrong, are ten and not two hundred."""
    grouped = grouped_pass_rate((f"d{n % 10}", n % 10 < 7) for n in range(200))
    apart = grouped_pass_rate((str(n), n % 10 < 7) for n in range(200))
    assert grouped is not None
    assert apart is not None
    assert grouped.effective < 11
    assert grouped.bounds[1] - grouped.bounds[0] > 3 * (apart.bounds[1] - apart.bounds[0])
