"""The questions to a judge for each type of grade beside `llm-rubric` and `factuality`: a row of words, what is shown, the reading.

A new graded type is a row of `TYPES`, and one of the table of assertions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Value, is_blank
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.verdict_reading import Flaw, contradiction, in_form, verdict_in
from minions_evals_mcp.scoring.checks import Grade, GradeNeed

Part = tuple[str, str]
"""What the judge is shown, under a heading."""


def _not_blank(text: str) -> str:
    if is_blank(text):
        raise ValueError("is blank")
    return text


class Reasoned(Value):
    """A judge's answer, with its reason."""

    reason: Annotated[str, AfterValidator(_not_blank)]


class _Verdict(Reasoned):
    meets: bool


class _Score(Reasoned):
    score: Annotated[float, Field(ge=0, le=1)]


class _Rubric(_Score):
    passes: Annotated[bool, Field(alias="pass")]


class _Statement(Value):
    statement: Annotated[str, AfterValidator(_not_blank)]
    holds: bool


class _Statements(Reasoned):
    statements: Annotated[list[_Statement], Field(min_length=1)]


_VERDICT, _SCORE, _RUBRIC, _STATEMENTS = map(TypeAdapter[Reasoned], (_Verdict, _Score, _Rubric, _Statements))
Form = Literal["verdict", "score", "rubric", "statements"]
_FORMS: Mapping[Form, tuple[TypeAdapter[Reasoned], Json]] = {
    "verdict": (_VERDICT, {"meets": {"type": "boolean"}}),
    "score": (_SCORE, {"score": {"type": "number"}}),
    "rubric": (_RUBRIC, {"pass": {"type": "boolean"}, "score": {"type": "number"}}),
    "statements": (_STATEMENTS, {"statements": {"type": "array", "items": {
        "type": "object", "properties": {"statement": {"type": "string"}, "holds": {"type": "boolean"}},
        "required": ["statement", "holds"], "additionalProperties": False,
    }}}),
}  # fmt: skip
"""How a judge answers: the reading of its answer, and its fields beside the reason."""


@frozen_type
class TypeQuestion:
    """The question to a judge for one type, what it is shown under which headings, and in which form it answers."""

    words: str
    shown: Callable[[GradeNeed], Sequence[Part]]
    form: Form

    @property
    def fields(self) -> Json:
        """The fields of the answer beside the reason, as a JSON schema."""
        return _FORMS[self.form][1]

    def read(self, text: str) -> Grade | Flaw:
        """The grade in the judge's answer."""
        return verdict_in(text, self._read, same_grade)

    def _read(self, reply: Json) -> Grade | Flaw:
        form, fields = _FORMS[self.form]
        answer = in_form(form, reply, {"reason": {"type": "string"}, **fields})
        return answer if isinstance(answer, Flaw) else _grade(answer)


def same_grade(grade: Grade) -> object:
    """What two verdicts on one output must have in common to be one."""
    return grade.passed, grade.score


def rubric_grade(*, passed: bool, score: float, reason: str) -> Grade | Flaw:
    """The grade; a flaw where the pass and the score contradict each other."""
    contradicts = contradiction(passed=passed, score=score)
    return Flaw(contradicts) if contradicts else Grade(passed, score, reason)


def _grade(reply: Reasoned) -> Grade | Flaw:
    match reply:
        case _Verdict(meets=meets):
            return Grade(meets, float(meets), reply.reason)
        case _Rubric(passes=passes, score=score):
            return rubric_grade(passed=passes, score=score, reason=reply.reason)
        case _Score(score=score):
            return Grade(passed=True, score=score, reason=reply.reason)
        case _Statements(statements=several):
            held = sum(statement.holds for statement in several)
            return Grade(
                passed=True,
                score=held / len(several),
                reason=f"{held} of {len(several)} statements hold: {reply.reason}",
            )
        case _:
            raise AssertionError(reply)


def _asked_and_output(need: GradeNeed) -> list[Part]:
    return [("What was asked", need.asked), ("Output under test", need.text)]


def _criterion_and_output(need: GradeNeed) -> list[Part]:
    return [("Criterion", need.asked), ("Output under test", need.text)]


def _context_and_question(need: GradeNeed) -> list[Part]:
    return [("Question", need.asked), ("Context", _context(need))]


def _context_and_reference(need: GradeNeed) -> list[Part]:
    return [("Reference", need.asked), ("Context", _context(need))]


def _context_and_output(need: GradeNeed) -> list[Part]:
    return [("Question", need.asked), ("Context", _context(need)), ("Output under test", need.text)]


def _goal_and_steps(need: GradeNeed) -> list[Part]:
    steps: list[str] = json.loads(need.given)["steps"]
    return [("Goal", need.asked), ("Steps", "\n".join(steps) or "none"), ("Output under test", need.text)]


def _context(need: GradeNeed) -> str:
    """The context as text; the parts of one that is a list are numbered."""
    held = json.loads(need.given)["context"]
    if isinstance(held, str):
        return held
    return "\n\n".join(f"[{number}] {part}" for number, part in enumerate(held, 1))


TYPES: Mapping[str, TypeQuestion] = {
    "agent-rubric": TypeQuestion(
        "You grade the work of an agent by a rubric, and by it alone. Say whether the work passes, and score it from 0 "
        "(nothing of what the rubric asks for) to 1 (all of it).",
        _criterion_and_output, "rubric",
    ),
    "answer-relevance": TypeQuestion(
        "You judge whether an answer is about what was asked, not whether it is right. Score it from 0 (about something else, "
        "evasive, or empty) to 1 (all of it answers what was asked, and nothing of that is left out).",
        _asked_and_output, "score",
    ),
    "context-faithfulness": TypeQuestion(
        "You check an output against the context that it was to be made from. List each statement of fact that the output "
        "makes, in its own words; a statement holds if the context alone supports it.",
        _context_and_output, "statements",
    ),
    "context-recall": TypeQuestion(
        "You check whether a context holds what an answer needs. List each statement of the reference, in its own words; a "
        "statement holds if the context supports it.",
        _context_and_reference, "statements",
    ),
    "context-relevance": TypeQuestion(
        "You check how much of a context serves a question. List each sentence of the context, or each of its numbered parts "
        "where it has some; one holds if answering the question needs it.",
        _context_and_question, "statements",
    ),
    "conversation-relevance": TypeQuestion(
        "You judge the last answer of a conversation: is it relevant to what came before it? Greetings and closing words "
        "are. Score 1 if it is, else 0.",
        _asked_and_output, "score",
    ),
    "g-eval": TypeQuestion(
        "You evaluate by a criterion. First work out the steps that a careful evaluator would take for it, take them, and "
        "say in the reason what each found; then score from 0 (it fails all of them) to 1 (it fulfils all of them).",
        _criterion_and_output, "score",
    ),
    "model-graded-closedqa": TypeQuestion(
        "You decide whether an output meets a criterion, and nothing else.", _criterion_and_output, "verdict",
    ),
    "trajectory:goal-success": TypeQuestion(
        "You decide whether an agent reached its goal, by the steps that it took and by what it put out at the end. What "
        "it says that it did and no step shows was not done.",
        _goal_and_steps, "verdict",
    ),
}  # fmt: skip
