"""A run against the runs before it: the testing API's metrics and rules, at their edges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import Digests
from minions_evals_mcp.scoring.text_diff import MOST_CHARACTERS, text_diff
from minions_evals_mcp.scoring.verdicts.history import (
    Compared,
    HistoryStanding,
    RunSample,
    compared,
    likeness,
    sample,
    score_fraction,
    standing,
)

GOOD = RunSample(passed=True, score=1.0, length=100, measured="m")
BAD = replace(GOOD, passed=False)
SAMPLES = st.builds(
    RunSample,
    passed=st.booleans(),
    score=st.none() | st.floats(0, 1),
    length=st.integers(0, 10_000),
    measured=st.sampled_from("mn"),
)


def one_text(expected: str, actual: str) -> Compared:
    """One expected text and what came."""
    return Compared(((expected, actual),))


def test_texts_match_exactly_after_trimming() -> None:
    assert likeness(one_text("positive", " positive\n"), (), tokens=(1, 2)).exact_match
    assert not likeness(one_text("positive", "Positive"), (0.9,), tokens=(1, 1)).exact_match


def test_differences_are_actual_minus_expected() -> None:
    shorter = likeness(one_text("four words are here", "two words"), (0.5,), tokens=(4, 2))
    assert (shorter.length_diff, shorter.token_diff) == (-10, -2)


@pytest.mark.parametrize(("score", "passes"), [(0.8, True), (0.8 - 1e-12, True), (0.799, False), (1.0, True)])
def test_a_similarity_of_exactly_080_passes(score: float, passes: bool) -> None:
    assert likeness(one_text("a", "b"), (score,), tokens=(1, 1)).passed is passes


def test_an_exact_match_passes_whatever_the_embedder_says() -> None:
    assert likeness(one_text("", " "), "the embedder is down", tokens=(0, 0)).passed


def test_of_several_keys_the_least_similar_decides() -> None:
    texts = compared({"a": "x", "b": "y"}, {"a": "x", "b": "z"}, patterns=False)
    assert texts is not None
    assert texts.unequal == (("y", "z"),)
    assert not likeness(texts, (0.3,), tokens=(1, 1)).passed


@pytest.mark.parametrize(
    ("expected", "output", "pairs"),
    [
        ({"output": "Paris"}, {"output": "Rome"}, (("Paris", "Rome"),)),
        ({"output": "Paris"}, {"text": "Rome"}, (("Paris", "Rome"),)),
        ({"output": "Paris"}, {}, (("Paris", ""),)),
        ({"a": 5, "b": True}, {"a": 5.0}, (("5", "5"), ("true", ""))),
        ({"output": "/^P/"}, {"output": "Paris"}, None),
        ({"output": "/^P/", "more": "x"}, {"output": "Paris"}, (("x", ""),)),
    ],
)
def test_what_is_compared_with_what(expected: Json, output: Json, pairs: tuple[tuple[str, str], ...] | None) -> None:
    found = compared(expected, output, patterns=True)
    assert (found and found.pairs) == pairs


def test_by_similarity_a_text_between_slashes_is_a_text() -> None:
    found = compared({"output": "/etc/"}, {"output": "/etc/"}, patterns=False)
    assert found is not None
    assert not found.unequal


def test_a_similarity_that_is_blind_to_a_number_warns_and_passes() -> None:
    found = likeness(one_text("It costs 5 dollars.", "It costs 9 dollars."), (0.97,), tokens=(5, 5))
    assert found.passed
    assert found.warnings == ("the numbers differ: 5 dollars expected, 9 dollars found",)


def test_only_texts_that_count_as_alike_are_warned_of() -> None:
    texts = one_text("It costs 5 dollars.", "It costs 6 dollars.")
    assert likeness(texts, (0.8,), tokens=(4, 4)).warnings
    assert not likeness(texts, (0.79,), tokens=(4, 4)).warnings
    assert not likeness(texts, "the embedder is down", tokens=(4, 4)).warnings


@pytest.mark.parametrize(
    ("score", "possible", "share"), [(3, 4, 0.75), (1, 0, 0), (-1, 2, 0), (5, 4, 1), (0.5, 0.5, 1)]
)
def test_a_score_is_a_share_of_what_was_possible(score: float, possible: float, share: float) -> None:
    assert score_fraction(score, possible) == share


def test_a_fail_is_a_regression_where_more_than_080_passed_before() -> None:
    assert standing(BAD, [GOOD] * 5).regression_types == ("FAILED",)
    assert standing(BAD, [GOOD] * 4 + [BAD]).regression_types == ()  # exactly 0.8
    assert standing(GOOD, [GOOD] * 5).regression_types == ()


@pytest.mark.parametrize(("score", "drops"), [(0.72, False), (0.7199, True), (0.8, False), (None, False)])
def test_a_score_drops_below_nine_tenths_of_the_mean(score: float | None, drops: bool) -> None:
    earlier = [replace(GOOD, score=0.7), replace(GOOD, score=0.9)]
    assert ("SCORE_DROP" in standing(replace(GOOD, score=score), earlier).regression_types) is drops


def test_scores_that_were_measured_otherwise_are_not_compared() -> None:
    assert standing(replace(GOOD, score=0.1), [replace(GOOD, measured="other")] * 5) == HistoryStanding()


@pytest.mark.parametrize(
    ("length", "changes"), [(130, False), (131, True), (70, False), (69, True), (100, False), (0, True)]
)
def test_a_length_changes_by_more_than_three_tenths_of_the_mean(length: int, changes: bool) -> None:
    found = standing(replace(GOOD, length=length), [replace(GOOD, length=90), replace(GOOD, length=110)])
    assert ("LENGTH_CHANGE" in found.regression_types) is changes


def test_from_empty_outputs_any_length_is_a_change() -> None:
    empty = replace(GOOD, length=0)
    assert standing(empty, [empty]) == HistoryStanding()
    assert standing(replace(GOOD, length=1), [empty]).regression_types == ("LENGTH_CHANGE",)


def test_where_rules_overlap_all_are_kept_and_the_gravest_comes_first() -> None:
    worse = RunSample(passed=False, score=0.1, length=500, measured="m")
    assert standing(worse, [GOOD] * 5).regression_types == ("FAILED", "SCORE_DROP", "LENGTH_CHANGE")


def test_a_flip_is_told_apart_from_a_regression() -> None:
    assert standing(BAD, [GOOD, BAD, BAD]) == HistoryStanding(flipped=True)
    assert not standing(BAD, [BAD, GOOD]).flipped


@given(SAMPLES)
def test_without_a_history_nothing_is_a_regression(now: RunSample) -> None:
    assert standing(now, []) == HistoryStanding()


@given(SAMPLES, st.lists(SAMPLES, min_size=1, max_size=5))
def test_the_order_of_history_matters_to_the_flip_only(now: RunSample, earlier: list[RunSample]) -> None:
    assert standing(now, earlier).regression_types == standing(now, earlier[::-1]).regression_types


@given(SAMPLES, st.integers(1, 5))
def test_the_same_run_again_is_no_regression(now: RunSample, times: int) -> None:
    assert standing(now, [now] * times) == HistoryStanding()


def test_under_a_rubric_its_fraction_is_compared_and_else_the_similarity() -> None:
    def scored(rule: str, semantic: float | None, embedder: str | None) -> float | None:
        return sample(
            passed=True,
            fraction=0.5,
            semantic_score=semantic,
            decided_by=rule,  # pyright: ignore[reportArgumentType]  one of the rules
            digests=Digests(embedder=embedder),
            output={"output": "x"},
        ).score

    assert scored("rubric_threshold", 0.9, "e") == 0.5
    assert scored("similarity_0_8", 0.9, "e") == 0.9
    assert scored("max_score", None, "e") is None  # the embedder failed: nothing to compare
    assert scored("max_score", None, None) == 0.5


@given(st.text(), st.text())
def test_a_difference_makes_both_texts(before: str, after: str) -> None:
    parts = text_diff(before, after)
    assert parts is not None
    assert "".join(part.text for part in parts if part.op != "insert") == before
    assert "".join(part.text for part in parts if part.op != "delete") == after
    assert all(part.text for part in parts)


def told(before: str, after: str) -> list[tuple[str, str]]:
    """The parts of a difference."""
    return [(part.op, part.text) for part in text_diff(before, after) or ()]


def test_a_difference_goes_by_characters() -> None:
    assert told("positive", "Positive!") == [
        ("delete", "p"), ("insert", "P"), ("equal", "ositive"), ("insert", "!"),
    ]  # fmt: skip
    assert told("same", "same") == [("equal", "same")]
    assert told("", "new") == [("insert", "new")]


def test_letters_that_both_have_by_chance_do_not_make_confetti() -> None:
    assert told("gone fishing", "it is blue") == [("delete", "gone fishing"), ("insert", "it is blue")]


def test_long_texts_are_told_coarsely_and_endless_ones_not_at_all() -> None:
    long = "".join(chr(97 + number % 26) for number in range(20_000))
    assert [op for op, _ in told(f"<{long}>", f"<{long[::-1]}>")] == ["equal", "delete", "insert", "equal"]
    assert text_diff("a" * MOST_CHARACTERS, "b") is None
