"""Grades by code in a model's place (`provider: file://judge.py`): called as promptfoo calls it, its reply read as there.

It is sent a filled template as one text, and told what is asked (`context.prompt.label`) and what filled the template
(`context.vars`). It is called once, twice for `g-eval` and `context-faithfulness`. What cannot be read is no verdict; there
it fails the output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import JudgeErrored
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.judges.coded_contexts import PROTOCOLS
from minions_evals_mcp.judges.llm import MAX_TOKENS, LlmJudge, ModelQuestion, QuestionCost
from minions_evals_mcp.judges.templated import READINGS, ModelChoice, choice_given, choice_reply, rubric_reply
from minions_evals_mcp.judges.verdict_reading import Flaw
from minions_evals_mcp.scoring.checks import Grade, GradeNeed
from minions_evals_mcp.scoring.max_score import SELECT_BEST
from minions_evals_mcp.scoring.prompt_texts.code_judges import G_EVAL, MOST, STEPS

T = TypeVar("T")


async def grade_by_code(judge: LlmJudge, need: GradeNeed) -> tuple[Grade, QuestionCost] | JudgeErrored:
    """Returns what the code says of the output."""
    values: Json = json.loads(need.given)
    if need.type in PROTOCOLS:
        variables, held = values["vars"], values["context"]
        assert isinstance(variables, dict), "whoever asks says them"
        context = [str(passage) for passage in held] if isinstance(held, list) else str(held)
        return await PROTOCOLS[need.type](partial(_ask, judge), need, variables, context)
    if need.type != G_EVAL:
        return await _ask(judge, need.type, need.template, values, READINGS.get(need.type, rubric_reply))
    criteria: Json = {"criteria": need.asked}
    planned = await _ask(judge, f"{G_EVAL}-steps", STEPS, criteria, _steps)
    if isinstance(planned, JudgeErrored):
        return planned
    steps, spent = planned
    wire: Json = {**criteria, "steps": "\n- ".join(steps), "maxScore": str(MOST), **values}
    graded = await _ask(judge, G_EVAL, need.template, wire, _of_ten)
    if isinstance(graded, JudgeErrored):
        return graded
    spent.include(graded[1])
    return graded[0], spent


async def choice_by_code(
    judge: LlmJudge, criterion: str, outputs: Sequence[str], *, inputs: Json, template: str
) -> ModelChoice | JudgeErrored:
    """The output that the code chooses, asked once: whether it goes by place is its author's affair."""
    values = choice_given(criterion, outputs, inputs)
    choice = await _ask(judge, SELECT_BEST, template, values, partial(choice_reply, outputs=len(outputs)))
    return choice if isinstance(choice, JudgeErrored) else choice[0]


async def _ask(
    judge: LlmJudge, label: str, template: str, values: Json, read: Callable[[str], T | Flaw]
) -> tuple[T, QuestionCost] | JudgeErrored:
    from minions_evals_mcp.scoring.prompt_texts.grading_prompt import filled  # noqa: PLC0415  jinja2 costs what few runs need

    try:
        text = filled(template, values)
    except BadInputError as error:
        return JudgeErrored(f"rubricPrompt: {error.message_text}")
    return await judge.put(ModelQuestion(None, text, MAX_TOKENS, None, read, label, values))


def _steps(text: str) -> list[str] | Flaw:
    reply = _object(text, '{"steps"')
    steps = reply.get("steps") if reply else None
    if not isinstance(steps, list) or not steps:
        return Flaw('it has no {"steps": [TEXT, …]} in one line')
    texts = [step for step in steps if isinstance(step, str) and step.strip()]
    return texts if len(texts) == len(steps) else Flaw("a step in it is not text")


def _of_ten(text: str) -> Grade | Flaw:
    reply = _object(text, "{")
    if reply is None:
        return Flaw('it has no {"score": …, "reason": …} in one line')
    score, reason = reply.get("score"), reply.get("reason")
    try:
        share = float(score) / MOST if isinstance(score, int | float | str) and not isinstance(score, bool) else -1.0
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        return Flaw(f"the score {str(score)[:20]} is not a number from 0 to {MOST}")
    if not isinstance(reason, str) or not reason.strip():
        return Flaw("it gives no reason")
    return Grade(passed=True, score=share, reason=reason)


def _object(text: str, start: str) -> Json | None:
    """The object of the first line that holds one which begins so, up to the last brace of that line."""
    for line in text.split("\n"):
        begin, end = line.find(start), line.rfind("}")
        if begin >= 0 and end > begin + len(start):
            return _read(line[begin : end + 1])
    return None


def _read(text: str) -> Json | None:
    try:
        reply: JsonValue = json.loads(text)
    except ValueError:
        return None
    return reply if isinstance(reply, dict) else None
