"""Words, edit distance, time and cost against their limits."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked


def passes(assertion: Assertion, subject: Subject) -> bool:
    """Whether a vetted assertion passes; its negation then does not."""
    vet(assertion)
    result = check(assertion, subject)
    turned = check(assertion.model_copy(update={"type": f"not-{assertion.type}"}), subject)
    assert isinstance(result, Checked)
    assert isinstance(turned, Checked)
    assert (result.score, turned.score) == (float(result.passed), float(turned.passed))
    assert result.passed is not turned.passed
    return result.passed


@pytest.mark.parametrize(
    ("value", "output", "passed"),
    [
        (3, "one two  three\n", True),
        ("3", "one two three", True),
        (3, "one two", False),
        (2.5, "one two", False),
        (0, " \n", True),
        (0, "", True),
        ({"min": 2}, "one two", True),
        ({"min": 3}, "one two", False),
        ({"max": 2}, "one two", True),
        ({"max": 1}, "one two", False),
        ({"min": 1, "max": "3"}, "one two three", True),
        ({"min": 1, "max": 3}, "one two three four", False),
        (2, "one\u00a0two", True),
        (1, "one\x85two", True),
        (1, "well-known", True),
    ],
)
def test_words_are_counted_between_white_space(value: JsonValue, output: str, passed: bool) -> None:
    assert passes(Assertion(type="word-count", value=value), Subject(output)) is passed


@pytest.mark.parametrize(
    ("value", "output", "threshold", "passed"),
    [
        ("kitten", "sitting", 3, True),
        ("kitten", "sitting", 2, False),
        ("kitten", "sitting", 2.9, False),
        ("hello", "hello12345", None, True),
        ("hello", "hello123456", None, False),
        ("hello", "hallo", 0, False),
        ("hello", "hello", 0, True),
        ("", "12345", None, True),
        (42, "42", 0, True),
        ("a", "😀", 1, False),
        ("a", "😀", 2, True),
        ("\ud800", "x", 1, True),
        ("a", "b" * 100, 1e300, True),
    ],
)
def test_edit_distance_is_counted_in_utf_16_units_up_to_the_threshold(
    value: JsonValue, output: str, threshold: float | None, passed: bool
) -> None:
    assert passes(Assertion(type="levenshtein", value=value, threshold=threshold), Subject(output)) is passed


@pytest.mark.parametrize(
    ("kind", "subject"), [("latency", Subject("", latency_ms=200.0)), ("cost", Subject("", cost_usd=200.0))]
)
def test_a_limit_is_inclusive(kind: str, subject: Subject) -> None:
    assert passes(Assertion(type=kind, threshold=200), subject)
    assert not passes(Assertion(type=kind, threshold=199.9), subject)


@pytest.mark.parametrize("kind", ["latency", "cost", "not-latency", "not-cost"])
def test_what_was_not_measured_is_unchecked_either_way(kind: str) -> None:
    result = check(Assertion(type=kind, threshold=5), Subject(""))
    assert result == Unchecked(kind, f"the {kind.removeprefix('not-')} of the output is unknown", not_judgeable=True)


def test_a_limit_that_was_never_vetted_is_unchecked() -> None:
    assert check(Assertion(type="cost"), Subject("", cost_usd=1)) == Unchecked("cost", "cost has no threshold")


def test_an_output_too_long_to_compare_is_unchecked() -> None:
    assert isinstance(check(Assertion(type="levenshtein", value="a"), Subject("a" * 1_000_001)), Unchecked)


@pytest.mark.parametrize(
    ("assertion", "field", "reason"),
    [
        (Assertion(type="latency"), "threshold", "is missing"),
        (Assertion(type="cost"), "threshold", "is missing"),
        (Assertion(type="not-latency", threshold=-1), "threshold", "must be 0 or more"),
        (Assertion(type="levenshtein", value="a", threshold=-1), "threshold", "must be 0 or more"),
        (Assertion(type="levenshtein"), "value", "must be a text"),
        (Assertion(type="levenshtein", value=True), "value", "must be a text"),
        (Assertion(type="levenshtein", value="a" * 100_001), "value", "more than 100,000"),
        (Assertion(type="word-count"), "value", "must be a number"),
        (Assertion(type="word-count", value="many"), "value", "must be a number"),
        (Assertion(type="word-count", value="nan"), "value", "must be a number"),
        (Assertion(type="word-count", value=True), "value", "must be a number"),
        (Assertion(type="word-count", value=10**400), "value", "must be a number"),
        (Assertion(type="word-count", value=[1]), "value", "must be a number"),
        (Assertion(type="word-count", value={}), "value", 'must have "min"'),
        (Assertion(type="word-count", value={"min": 1, "mx": 2}), "value", 'must have "min"'),
        (Assertion(type="word-count", value={"min": None}), "value", "must be a number"),
        (Assertion(type="word-count", value={"min": 3, "max": 2}), "value", "greater than max"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(assertion: Assertion, field: str, reason: str) -> None:
    with pytest.raises(InvalidRecordError) as refusal:
        vet(assertion)
    assert refusal.value.field == field
    assert reason in refusal.value.reason
