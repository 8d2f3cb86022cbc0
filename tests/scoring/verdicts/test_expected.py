"""Judging by what was expected: a string is looked for, `/…/` is a pattern, anything else must be equal."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import vet
from minions_evals_mcp.scoring.checks import Checked, Evidence, RegexNeed, Subject, Unchecked
from minions_evals_mcp.scoring.verdicts.expected import expectation, expected_needs, meets

Json = dict[str, JsonValue]
LOOKAHEAD = "/(?=.*yes)(?=.*no)/"


def judged(expected: Json, output: Json) -> Checked:
    found = meets(expected, output, Subject(output_text(output)))
    assert isinstance(found, Checked)
    assert found.type == "expected"
    assert found.score == float(found.passed)
    return found


@pytest.mark.parametrize(
    ("expected", "check"),
    [
        ("Paris", Assertion(type="icontains", value="Paris")),
        ("/^Par.s$/", Assertion(type="regex", value="^Par.s$")),
        ("/a/", Assertion(type="regex", value="a")),
        ("//", Assertion(type="icontains", value="//")),
        ("/", Assertion(type="icontains", value="/")),
        ("/usr/bin", Assertion(type="icontains", value="/usr/bin")),
        ("and/or/", Assertion(type="icontains", value="and/or/")),
        (5, Assertion(type="equals", value=5)),
        (True, Assertion(type="equals", value=True)),
        (None, Assertion(type="equals", value=None)),
        (["a"], Assertion(type="equals", value=["a"])),
        ({"a": 1}, Assertion(type="equals", value={"a": 1})),
    ],
)
def test_what_is_expected_says_which_check_it_stands_for(expected: JsonValue, check: Assertion) -> None:
    assert expectation(expected) == check


@pytest.mark.parametrize("output", ["paris", "It is PARIS.", "Paris"])
def test_a_plain_string_is_looked_for_whatever_its_case(output: str) -> None:
    assert judged({"output": "Paris"}, {"output": output}).passed


def test_a_string_that_is_not_there_is_missed_and_the_reason_says_so() -> None:
    found = judged({"output": "Paris"}, {"output": "London"})
    assert not found.passed
    assert "Paris" in found.reason


def test_a_pattern_is_searched_case_sensitive_as_written() -> None:
    assert judged({"output": "/[0-9]+ days/"}, {"output": "within 30 days"}).passed
    assert not judged({"output": "/Days/"}, {"output": "30 days"}).passed
    assert judged({"output": "/(?i)Days/"}, {"output": "30 days"}).passed
    assert not judged({"output": "/^30/"}, {"output": "in 30"}).passed


def test_a_bad_pattern_is_an_error_before_anything_runs_not_a_failure() -> None:
    with pytest.raises(InvalidRecordError):
        vet(expectation("/([a-z/"))


@pytest.mark.parametrize("output", [{"output": 5}, {"output": "5"}, {"total": 5, "output": "x"}, {"total": 5.0}])
def test_other_json_must_be_equal(output: Json) -> None:
    key = "total" if "total" in output else "output"
    assert judged({key: 5}, output).passed
    assert not judged({key: 6}, output).passed


def test_one_expected_key_that_the_output_lacks_is_looked_for_in_its_text() -> None:
    assert judged({"answer": "Paris"}, {"output": "It is Paris."}).passed
    assert judged({"answer": "Paris"}, {"note": "Paris"}).passed
    assert not judged({"answer": "Paris"}, {"output": "Rome", "note": "Paris"}).passed


def test_one_expected_key_that_the_output_has_is_compared_with_that_key_alone() -> None:
    assert not judged({"city": "Paris"}, {"city": "Rome", "output": "Paris"}).passed
    assert judged({"city": "Paris"}, {"city": "Paris", "output": "Rome"}).passed


def test_several_keys_are_compared_key_by_key_and_all_must_pass() -> None:
    expected: Json = {"city": "Paris", "days": 3, "ok": True}
    right: Json = {"city": "paris!", "days": 3, "ok": True, "more": "x"}
    found = judged(expected, right)
    assert found.passed
    assert all(f"{key}: " in found.reason for key in expected)
    wrong = judged(expected, {**right, "days": 4})
    assert not wrong.passed
    assert wrong.reason.startswith("days: ")
    assert "city" not in wrong.reason


def test_several_keys_of_which_the_output_lacks_some_are_named() -> None:
    found = judged({"city": "Paris", "days": 3}, {"output": "Paris, 3"})
    assert not found.passed
    assert found.reason == "city: the output has no such key; days: the output has no such key"


def test_nothing_expected_is_met() -> None:
    assert judged({}, {"output": "x"}).reason == "nothing was expected"


def test_a_pattern_that_needs_the_other_engine_is_asked_for_and_decided_by_its_evidence() -> None:
    output: Json = {"output": "yes and no"}
    subject = Subject(output_text(output))
    (need,) = expected_needs({"output": LOOKAHEAD}, output, subject)
    assert isinstance(need, RegexNeed)
    assert need.text == "yes and no"
    for found in (True, False):
        result = meets({"output": LOOKAHEAD}, output, subject, evidence=Evidence({need: found}))
        assert isinstance(result, Checked)
        assert result.passed is found


def test_a_pattern_that_could_not_be_searched_gives_no_verdict() -> None:
    output: Json = {"output": "yes"}
    found = meets({"output": LOOKAHEAD}, output, Subject("yes"))
    assert isinstance(found, Unchecked)
    assert found.type == "regex"


def test_evidence_is_asked_for_by_key_and_not_for_keys_that_are_missing() -> None:
    expected: Json = {"one": LOOKAHEAD, "two": LOOKAHEAD, "three": "plain"}
    needs = expected_needs(expected, {"one": "text of one", "three": "x"}, Subject("whole"))
    assert [need.text for need in needs if isinstance(need, RegexNeed)] == ["text of one"]
    assert len(needs) == 1
