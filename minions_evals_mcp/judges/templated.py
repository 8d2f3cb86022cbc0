"""Grading in a person's own words: a template (`rubricPrompt`) in place of ours, and replies read in promptfoo's form.

What such a template gives up: there is no mark around the output that it could not forge, no schema that the reply is
held to, and the reason need not come before the score. The output is filled in as it is and never rendered, so it stays
data as far as the words around it say so.

Where promptfoo 0.121.20 and we differ:
- A reply in which no verdict can be read is sent back, and then no verdict; there it fails the output.
- So is one whose pass and score contradict each other, one with several verdicts that differ, one whose JSON is not closed.
- So is one with neither `pass` nor `score`, or with a score that is not a number from 0 to 1; there the first passes, and
  so does a score that is no number, while any number counts as it is.
- A score of null is none; there it is 0. The last letter of a word is no category; there "(fda)" is A.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import JudgeErrored
from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.judges.graded_types import rubric_grade, same_grade
from minions_evals_mcp.judges.llm import MAX_TOKENS, ModelQuestion
from minions_evals_mcp.judges.verdict_reading import Flaw, verdict_in, without_thoughts
from minions_evals_mcp.scoring.checks import Grade, GradeNeed

T = TypeVar("T")
_SAYS = {
    **dict.fromkeys(("true", "yes", "pass", "passed", "y", "1"), True),
    **dict.fromkeys(("false", "no", "fail", "failed", "n", "0"), False),
}
_SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:(%)|/\s*(\d+(?:\.\d+)?))\s*")
_OPENS = re.compile(r"\W*([a-eA-E])\)\s*(.*)", re.DOTALL)
_DECLARED = re.compile(
    r"\b(?i:answer|category|choice|option|verdict)\b\W*(?:(?:is|would be|must be)\b)?\W*\b([A-E])"
    r"(?=[\s*\"]*(?:[).:;,\n]|$|(?:because|since|as)\b))"
)
_BRACKETED = re.compile(r"(?<![^\W_])\(?([a-eA-E])\)")
_YES_OR_NO = re.compile(r"\b(Y|YES|Yes|N|NO|No)\W*\Z")
_ALONE = re.compile(r"\W*([A-E])\W*")
_NUMBER = re.compile(r"\d+", re.ASCII)
SILENT = "the judge gave no reason"


class ModelChoice(NamedTuple):
    """The index of the output that a model chose, and why."""

    chosen: int
    reason: str


def grade_question(need: GradeNeed) -> ModelQuestion[Grade] | JudgeErrored:
    """The filled template, with the reading of its reply."""
    values: Json = json.loads(need.given)
    return _question(need.template, values, READINGS.get(need.type, rubric_reply))


def choice_question(
    template: str, criterion: str, outputs: Sequence[str], *, inputs: Json
) -> ModelQuestion[ModelChoice] | JudgeErrored:
    """The template filled with `criteria` and `outputs`; its reply is the number of the best, counted from 0."""
    values = choice_given(criterion, outputs, inputs)
    return _question(template, values, partial(choice_reply, outputs=len(outputs)))


def choice_given(criterion: str, outputs: Sequence[str], inputs: Json) -> Json:
    """Returns what fills the template of a choice."""
    from minions_evals_mcp.scoring.prompt_texts.grading_prompt import perhaps_json  # noqa: PLC0415  jinja2 costs what few runs need

    return {**inputs, "criteria": criterion, "outputs": [perhaps_json(output) for output in outputs]}


def _question(template: str, values: Json, read: Callable[[str], T | Flaw]) -> ModelQuestion[T] | JudgeErrored:
    from minions_evals_mcp.scoring.prompt_texts.grading_prompt import filled_prompt  # noqa: PLC0415  as above

    try:
        question = filled_prompt(template, values)
    except BadInputError as error:
        return JudgeErrored(f"rubricPrompt: {error.message_text}")
    return ModelQuestion(question.system, question.user, MAX_TOKENS, None, read)


def rubric_reply(text: str) -> Grade | Flaw:
    """The {pass, score, reason} of the reply's verdict: without `pass` it passes, without `score` that is 1 or 0."""
    return verdict_in(text, _rubric, same_grade)


def _rubric(reply: Json) -> Grade | Flaw:
    verdict, score = reply.get("pass"), reply.get("score")
    if verdict is None and score is None:
        return Flaw("it has neither pass nor score")
    passed = True if verdict is None else _SAYS.get(str(verdict).strip().lower())
    if passed is None:
        return Flaw(f"pass is {str(verdict)[:20]!r}, neither true nor false")
    share = float(passed) if score is None else _share(score)
    return share if isinstance(share, Flaw) else rubric_grade(passed=passed, score=share, reason=_reason(reply))


def facts_reply(text: str) -> Grade | Flaw:
    """The category in {category, reason}, else the letter that the text opens with, declares, or names alone: `(B) …`."""
    verdict = verdict_in(text, _facts, lambda grade: grade.reason[: len("category A")])
    if not isinstance(verdict, Flaw) or "category" in text:
        return verdict
    answer = without_thoughts(text).strip()
    opening, alone = _OPENS.match(answer), _ALONE.fullmatch(answer)
    declared = _DECLARED.findall(answer)
    first = opening or alone
    for named in ([*first.groups()[:1], *declared] if first else declared, _BRACKETED.findall(answer)):
        if len({letter.upper() for letter in named}) > 1:
            return Flaw("it names several categories")
        if named:
            return _of_category(named[0], (opening[2].strip() if opening else answer) or SILENT)
    return Flaw("it has no category")


def _facts(reply: Json) -> Grade | Flaw:
    category = reply.get("category")
    return _of_category(category, _reason(reply)) if isinstance(category, str) else Flaw("it has no category")


def _of_category(letter: str, reason: str) -> Grade | Flaw:
    category = letter.strip().upper()
    if labelled := re.match(r"\(?([A-E])[).:]", category):
        category = labelled[1]
    if category not in {"A", "B", "C", "D", "E"}:
        return Flaw(f"the category {category[:20]} is not one of A to E")
    agrees = category != "D"
    return Grade(agrees, float(agrees), f"category {category}: {reason}")


def closed_reply(text: str) -> Grade | Flaw:
    """Returns whether the reply ends with Y or with N."""
    answer = without_thoughts(text).strip()
    last = _YES_OR_NO.search(answer)
    if last is None:
        return Flaw("it ends with neither Y nor N")
    met = last[1].startswith("Y")
    return Grade(met, float(met), f"the criterion is {'' if met else 'not '}met: {answer}")


READINGS = {"factuality": facts_reply, "model-graded-closedqa": closed_reply}
"""How the replies of those types are read; all others' as a rubric's."""


def choice_reply(text: str, *, outputs: int) -> ModelChoice | Flaw:
    """The first whole number in the reply."""
    match = _NUMBER.search(without_thoughts(text))
    if match is None:
        return Flaw("it has no number")
    chosen = int(match[0][:9])
    return (
        ModelChoice(chosen, text.strip()) if chosen < outputs else Flaw(f"there is no output {chosen}, counted from 0")
    )


def _share(score: JsonValue) -> float | Flaw:
    if isinstance(score, str) and (written := _SHARE.fullmatch(score)):
        whole = 100.0 if written[2] else float(written[3])
        score = float(written[1]) / whole if whole else math.nan
    try:
        share = float(score) if isinstance(score, int | float | str) else math.nan
    except ValueError:
        share = math.nan
    return share if 0 <= share <= 1 else Flaw(f"the score {str(score)[:20]} is not a number from 0 to 1")


def _reason(reply: Json) -> str:
    reason = reply.get("reason")
    return reason.strip() if isinstance(reason, str) and not is_blank(reason) else SILENT
