"""Looking after every case: the evidence, the end, and the error under peeking."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from minions_evals_mcp.stats.sequential import case_order, look, pass_evidence


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (9, 0), (4, 7), (30, 12), (200, 300)])
def test_the_evidence_is_the_ratio_of_beta_functions(b: int, c: int) -> None:
    assert pass_evidence(b, c) == pytest.approx(
        2.0 ** (b + c) * special.beta(b + 0.5, c + 0.5) / special.beta(0.5, 0.5)
    )


def test_overwhelming_evidence_is_still_a_number() -> None:
    assert 1e300 < pass_evidence(5_000, 0) < float("inf")


@given(b=st.integers(0, 60), c=st.integers(0, 60))
def test_before_a_change_the_evidence_is_the_mean_of_what_an_even_chance_makes_of_it(b: int, c: int) -> None:
    assert (pass_evidence(b + 1, c) + pass_evidence(b, c + 1)) / 2 == pytest.approx(pass_evidence(b, c))
    assert pass_evidence(b, c) == pytest.approx(pass_evidence(c, b))


def test_ten_gained_passes_in_a_row_settle_it_and_save_the_rest() -> None:
    nine = look(9, 0, 9, 50)
    assert (nine.decision, nine.saved) == ("continue", 0)
    assert 94 < nine.evidence < 100
    settled = look(10, 0, 10, 50)
    assert (settled.decision, settled.saved, settled.p_value) == ("improved", 40, None)
    assert look(0, 10, 10, 50).decision == "regressed"


def test_at_the_planned_end_mcnemar_decides_at_four_percent() -> None:
    six = look(6, 0, 20, 20)
    assert (six.decision, six.p_value, six.saved) == ("improved", 0.03125, 0)
    assert look(0, 6, 20, 20).decision == "regressed"
    assert look(12, 4, 40, 40).decision == "inconclusive"  # p = .077
    assert look(10, 2, 40, 40).decision == "improved"  # p = .0386
    assert look(15, 5, 40, 40).decision == "inconclusive"  # p = .0414, enough for 5 % but not for 4 %


def test_nothing_changed_is_inconclusive_at_the_end_and_open_before() -> None:
    assert look(0, 0, 5, 10).decision == "continue"
    assert look(0, 0, 10, 10).decision == "inconclusive"


@given(b=st.integers(0, 40), c=st.integers(0, 40), same=st.integers(0, 10), left=st.integers(0, 40))
def test_the_other_way_round_decides_the_other_way(b: int, c: int, same: int, left: int) -> None:
    seen = b + c + same
    if seen == 0:
        return
    mirror = {"improved": "regressed", "regressed": "improved"}
    one, other = look(b, c, seen, seen + left), look(c, b, seen, seen + left)
    assert other.decision == mirror.get(one.decision, one.decision)
    assert one.saved in {0, left}


@pytest.mark.parametrize(
    ("b", "c", "seen", "planned"), [(-1, 0, 1, 2), (0, -1, 1, 2), (2, 2, 3, 5), (0, 0, 6, 5), (0, 0, 0, 5)]
)
def test_what_is_no_state_of_a_comparison_is_refused(b: int, c: int, seen: int, planned: int) -> None:
    with pytest.raises(ValueError, match="no state of a comparison"):
        look(b, c, seen, planned)


def test_the_order_of_the_cases_is_random_and_the_same_for_the_same_seed() -> None:
    ids = [f"case {number}" for number in range(30)]
    assert case_order(ids, 1) == case_order(reversed(ids), 1)
    assert case_order(ids, 1) != case_order(ids, 2)
    assert sorted(case_order(ids, 1)) == sorted(ids)


def test_looking_after_every_case_errs_in_at_most_five_percent() -> None:
    draw = random.Random(7)  # noqa: S311  a simulation, no secret
    wrong = 0
    for _ in range(1_000):
        gains = list(accumulate(draw.random() < 0.5 for _ in range(60)))
        decisions = (look(b, seen - b, seen, 60).decision for seen, b in enumerate(gains, start=1))
        wrong += next(decision for decision in decisions if decision != "continue") != "inconclusive"
    assert wrong / 1_000 <= 0.05
