"""The types that a model grades beside rubrics and facts: what it is asked, and the score that its answer makes."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.judges.graded_types import TYPES
from minions_evals_mcp.judges.grading import grade_criterion, grade_of, grader_digest
from minions_evals_mcp.judges.verdict_reading import Flaw
from minions_evals_mcp.scoring.assertions.table import check, needs
from minions_evals_mcp.scoring.checks import (
    Evidence,
    Grade,
    GradeNeed,
    Ran,
    Subject,
    TransformedNeed,
    Unchecked,
    opened,
)
from tests.judges.test_grading import bench

pytestmark = pytest.mark.anyio
TEXT = "You have 30 days."
SUBJECT = Subject(
    TEXT, variables={"query": "How long?", "context": ["Returns: 30 days.", "Closed on Sundays."]}, prompt="How long may I take?",
    tool_calls=(ToolCall(tool="get_order", arguments={"id": 7}),),
)  # fmt: skip
STATEMENTS: JsonValue = [
    {"statement": "a", "holds": True},
    {"statement": "b", "holds": False},
    {"statement": "c", "holds": True},
]
ANSWERS: dict[str, tuple[Assertion, JsonValue, float, tuple[str, ...]]] = {
    "agent-rubric": (Assertion(type="agent-rubric", value="is kind"), {"pass": True, "score": 0.75}, 0.75, ("is kind", TEXT)),
    "answer-relevance": (Assertion(type="answer-relevance"), {"score": 0.75}, 0.75, ("How long?", TEXT)),
    "context-faithfulness": (Assertion(type="context-faithfulness"), {"statements": STATEMENTS}, 2 / 3, ("[2] Closed", TEXT)),
    "context-recall": (Assertion(type="context-recall", value="30 days"), {"statements": STATEMENTS}, 2 / 3, ("[1] Returns", "30 days")),
    "context-relevance": (Assertion(type="context-relevance"), {"statements": STATEMENTS}, 2 / 3, ("How long?", "[2] Closed")),
    "conversation-relevance": (Assertion(type="conversation-relevance"), {"score": 1}, 1, ("How long may I take?", TEXT)),
    "g-eval": (Assertion(type="g-eval", value="is coherent"), {"score": 0.8}, 0.8, ("is coherent", TEXT)),
    "model-graded-closedqa": (Assertion(type="model-graded-closedqa", value="names days"), {"meets": True}, 1, ("names days", TEXT)),
    "trajectory:goal-success": (Assertion(type="trajectory:goal-success", value={"goal": "answer {{query}}"}), {"meets": True}, 1,
                                ("answer How long?", 'get_order({\\"id\\": 7})')),
}  # fmt: skip


def need_of(assertion: Assertion) -> GradeNeed:
    """The one question that the check puts to a model."""
    (need,) = needs([assertion], SUBJECT)
    assert isinstance(need, GradeNeed)
    return need


def test_every_type_that_has_words_of_its_own_is_tried_here() -> None:
    assert ANSWERS.keys() == TYPES.keys()


@pytest.mark.parametrize("kind", ANSWERS)
async def test_the_judge_is_shown_what_the_type_is_about_and_its_answer_is_the_score(kind: str) -> None:
    assertion, answer, score, shown = ANSWERS[kind]
    assert isinstance(answer, dict)
    need = need_of(assertion)
    async with bench() as at:
        at.replies({"reason": "because", **answer})
        found = grade_of(await at.verdict(need))
        assert all(text in at.asked().replace('\\\\\\"', '\\"') or text in at.asked() for text in shown)
        assert grader_digest(at.judge, kind=kind) != grader_digest(at.judge)
    assert found.score == pytest.approx(score)
    checked = check(assertion, SUBJECT, Evidence(grades={need: found}))
    assert not isinstance(checked, Unchecked)
    assert (checked.passed, checked.score) == (True, pytest.approx(score))


@pytest.mark.parametrize(
    ("kind", "score", "threshold", "passes"),
    [("context-recall", 0.4, None, False), ("context-recall", 0.5, None, True), ("answer-relevance", 0.6, 0.7, False),
     ("g-eval", 0.69, None, False), ("g-eval", 0.7, None, True), ("not-g-eval", 0.69, None, True)],
)  # fmt: skip
def test_a_share_passes_from_the_threshold(kind: str, score: float, threshold: float | None, passes: bool) -> None:
    assertion = Assertion(type=kind, value="30 days", threshold=threshold)
    evidence = Evidence(
        grades={
            need: Grade(passed=True, score=score, reason="r")
            for need in needs([assertion], SUBJECT)
            if isinstance(need, GradeNeed)
        }
    )
    checked = check(assertion, SUBJECT, evidence)
    assert not isinstance(checked, Unchecked)
    assert checked.passed is passes


def test_g_eval_takes_the_mean_of_its_criteria() -> None:
    assertion = Assertion(type="g-eval", value=["is short", "is kind"])
    first, second = needs([assertion], SUBJECT)
    assert isinstance(first, GradeNeed)
    assert isinstance(second, GradeNeed)
    grades = {first: Grade(passed=True, score=0.4, reason="long"), second: Grade(passed=True, score=1.0, reason="kind")}
    checked = check(assertion, SUBJECT, Evidence(grades=grades))
    assert not isinstance(checked, Unchecked)
    assert (checked.passed, checked.score, checked.reason) == (True, pytest.approx(0.7), "long\n\nkind")


def test_a_context_that_code_makes_of_the_output_is_what_the_judge_goes_through() -> None:
    assertion = Assertion(type="context-faithfulness", context_transform="output.sources")
    snippet, behind = needs([assertion], SUBJECT)
    assert isinstance(behind, TransformedNeed)
    evidence = Evidence(snippets={behind.snippet: Ran(["Made of the output."])})
    (need,) = opened([snippet, behind], evidence)
    assert isinstance(need, GradeNeed)
    assert json.loads(need.given) == {"context": ["Made of the output."]}
    assert grade_criterion(need).digest != grade_criterion(need_of(Assertion(type="context-faithfulness"))).digest


@pytest.mark.parametrize(
    ("assertion", "subject", "said"),
    [(Assertion(type="context-relevance"), Subject(TEXT, variables={"query": "?"}), "needs a context"),
     (Assertion(type="context-faithfulness"), Subject(TEXT, variables={"context": "a"}), "needs the variable `query`"),
     (Assertion(type="conversation-relevance"), Subject(TEXT), "needs the prompt, which is unknown"),
     (Assertion(type="trajectory:goal-success", value="g"), Subject(TEXT), "no log of tool calls")],
)  # fmt: skip
def test_a_test_without_what_the_check_needs_is_no_verdict(assertion: Assertion, subject: Subject, said: str) -> None:
    assert needs([assertion], subject) == ()
    checked = check(assertion, subject)
    assert isinstance(checked, Unchecked)
    assert said in checked.reason


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_out_of_form_is_sent_back(kind: str) -> None:
    for text in ("", "{}", '{"reason": " "}', '{"reason": "r", "score": 2}', '{"reason": "r", "statements": []}'):
        assert isinstance(TYPES[kind].read(text), Flaw)
