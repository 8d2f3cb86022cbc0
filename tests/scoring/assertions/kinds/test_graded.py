"""`llm-rubric` and `factuality`: what a grade means for the verdict, as promptfoo documents it."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.graded import asks_grade
from minions_evals_mcp.scoring.assertions.table import check, needs, vet
from minions_evals_mcp.scoring.checks import Checked, Evidence, Grade, GradeNeed, Subject, Unchecked

SUBJECT = Subject("hello")


def graded(kind: str, grade: Grade, threshold: float | None = None) -> Checked:
    """The verdict where the judge gave that grade."""
    assertion = Assertion(type=kind, value="is polite", threshold=threshold)
    vet(assertion)
    (need,) = needs([assertion], SUBJECT)
    assert isinstance(need, GradeNeed)
    found = check(assertion, SUBJECT, Evidence(grades={need: grade}))
    assert isinstance(found, Checked)
    return found


@pytest.mark.parametrize(
    ("passed", "score", "threshold", "verdict"),
    [
        (True, 0, None, True),
        (False, 1, None, False),
        (True, 0.5, 0.5, True),
        (True, 0.1 + 0.2, 0.3, True),
        (True, 0.49, 0.5, False),
        (False, 1, 0.5, False),
    ],
)
def test_the_judge_lets_it_pass_and_the_score_reaches_the_threshold(
    passed: bool, score: float, threshold: float | None, verdict: bool
) -> None:
    grade = Grade(passed, score, "because")
    found, turned = (graded(kind, grade, threshold) for kind in ("llm-rubric", "not-llm-rubric"))
    assert (found.passed, found.score) == (verdict, score)
    assert (turned.passed, turned.score) == (not verdict, 1 - score)
    assert found.reason.startswith("because")


def test_a_score_below_the_threshold_says_so() -> None:
    assert graded("llm-rubric", Grade(True, 0.4, "fine"), 0.5).reason == "fine; score 0.4 is below the threshold 0.5"


def test_factuality_turns_round_like_any_type() -> None:
    grade = Grade(passed=True, score=1, reason="category A: some")
    assert (graded("factuality", grade).passed, graded("not-factuality", grade).passed) == (True, False)


@pytest.mark.parametrize("kind", ["llm-rubric", "factuality", "not-llm-rubric"])
def test_without_a_judge_there_is_no_verdict(kind: str) -> None:
    found = check(Assertion(type=kind, value="r"), SUBJECT)
    assert isinstance(found, Unchecked)
    assert "a test case that runs with a judge model" in found.reason, "the remedy is named"


def test_a_rubric_may_be_an_object() -> None:
    assertion = Assertion(type="llm-rubric", value={"tone": "kind", "length": 1})
    vet(assertion)
    assert needs([assertion], SUBJECT) == (GradeNeed("llm-rubric", '{"length":1,"tone":"kind"}', "hello"),)


@pytest.mark.parametrize(
    ("kind", "value", "threshold", "reason"),
    [
        ("llm-rubric", None, None, "value: must be a rubric"),
        ("llm-rubric", " ", None, "value: must be a rubric"),
        ("llm-rubric", {}, None, "value: must be a rubric"),
        ("llm-rubric", "r", 1.5, "threshold: must be from 0 to 1"),
        ("factuality", {"a": 1}, None, "value: must be the text"),
        ("factuality", "", None, "value: must be the text"),
        ("factuality", "a", 0.5, "threshold: factuality has none"),
    ],
)
def test_what_could_not_be_asked_is_refused(kind: str, value: JsonValue, threshold: float | None, reason: str) -> None:
    with pytest.raises(InvalidRecordError, match=reason):
        vet(Assertion(type=kind, value=value, threshold=threshold))


def test_a_set_asks_for_a_grade_where_a_member_does() -> None:
    rubric, plain = Assertion(type="not-llm-rubric", value="r"), Assertion(type="contains", value="a")
    assert asks_grade([plain, Assertion(type="assert-set", assertions=(plain, rubric))])
    assert not asks_grade([plain, Assertion(type="assert-set", assertions=(plain,))])
