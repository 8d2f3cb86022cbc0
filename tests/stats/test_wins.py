"""Whether a winner of repeated rounds won more than chance would have it."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minions_evals_mcp.stats.wins import win_test


@pytest.mark.parametrize(("wins", "rounds"), [(6, 6), (5, 6), (8, 10), (5, 10), (0, 3)])
def test_between_two_it_is_the_sign_test(wins: int, rounds: int) -> None:
    wanted = min(1.0, 2 * stats.binomtest(wins, rounds, 0.5, alternative="greater").pvalue)
    assert win_test(wins, rounds, 2).p_value == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("wins", "rounds", "contenders"), [(4, 5, 3), (5, 5, 5), (12, 20, 4)])
def test_among_more_the_tail_is_counted_once_for_each(wins: int, rounds: int, contenders: int) -> None:
    tail = stats.binomtest(wins, rounds, 1 / contenders, alternative="greater").pvalue
    assert win_test(wins, rounds, contenders).p_value == pytest.approx(min(1.0, contenders * tail), abs=1e-12)


def test_too_few_rounds_can_decide_nothing() -> None:
    assert [win_test(rounds, rounds, 2).evidence for rounds in (0, 1, 5, 6)] == [
        "undecidable",
        "undecidable",
        "undecidable",
        "supported",
    ]
    assert win_test(4, 6, 2).evidence == "within-noise"
    assert win_test(4, 4, 3).evidence == "supported"


@pytest.mark.parametrize("contenders", [2, 3])
def test_alike_contenders_are_told_apart_in_at_most_5_percent_of_all_courses(contenders: int) -> None:
    for rounds in range(1, 9):
        courses = list(itertools.product(range(contenders), repeat=rounds))
        told = sum(
            win_test(Counter(course).most_common(1)[0][1], rounds, contenders).evidence == "supported"
            for course in courses
        )
        assert told / len(courses) <= 0.05


@given(st.integers(2, 5), st.integers(0, 200), st.data())
def test_more_wins_are_never_less_evidence(contenders: int, rounds: int, data: st.DataObject) -> None:
    wins = data.draw(st.integers(0, rounds))
    found = win_test(wins, rounds, contenders)
    assert 0 <= found.p_value <= 1
    if wins < rounds:
        assert win_test(wins + 1, rounds, contenders).p_value <= found.p_value


@pytest.mark.parametrize(("wins", "rounds", "contenders"), [(2, 1, 2), (-1, 1, 2), (1, 1, 1)])
def test_what_cannot_be_is_refused(wins: int, rounds: int, contenders: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        win_test(wins, rounds, contenders)
