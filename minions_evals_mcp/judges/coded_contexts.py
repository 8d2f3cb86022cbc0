"""The verdicts on contexts of code in a model's place: `context-recall`, `context-relevance`, `context-faithfulness`, read as in promptfoo.

A reply in which nothing of the kind stands is no verdict; there it fails the output.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import JudgeErrored
from minions_evals_mcp.judges.llm import QuestionCost
from minions_evals_mcp.judges.verdict_reading import Flaw
from minions_evals_mcp.scoring.checks import Grade, GradeNeed
from minions_evals_mcp.scoring.prompt_texts.code_judges import STATEMENTS

T = TypeVar("T")
Context = str | list[str]
_FINAL = "final verdict for each statement in order:"
_MARKER = re.compile(r"^\d+[.)]$")
_LISTED = re.compile(r"^\s*(?:\d+[.)]|[-*])\s*")


class Ask(Protocol):
    """Puts a filled template to the code."""

    async def __call__(
        self, label: str, template: str, values: Json, read: Callable[[str], T | Flaw]
    ) -> tuple[T, QuestionCost] | JudgeErrored: ...


async def recall(
    ask: Ask, need: GradeNeed, variables: Json, context: Context
) -> tuple[Grade, QuestionCost] | JudgeErrored:
    """The share of the statements that the code calls attributed."""
    values: Json = {**variables, "context": _joined(context), "groundTruth": need.asked}
    return await ask(need.type, need.template, values, _attributed)


async def relevance(ask: Ask, need: GradeNeed, _: Json, context: Context) -> tuple[Grade, QuestionCost] | JudgeErrored:
    """The share of the context's sentences, or of its parts, that the code quotes as needed."""
    values: Json = {"context": _joined(context), "query": need.asked}
    return await ask(need.type, need.template, values, lambda text: _quoted(text, context))


async def faithfulness(
    ask: Ask, need: GradeNeed, variables: Json, context: Context
) -> tuple[Grade, QuestionCost] | JudgeErrored:
    """The share of the output's statements that the code says to follow from the context: asked for first, then judged."""
    from minions_evals_mcp.scoring.prompt_texts.grading_prompt import perhaps_json  # noqa: PLC0415  jinja2 costs what few runs need

    answer: Json = {**variables, "question": need.asked, "answer": perhaps_json(need.text)}
    answered = await ask(f"{need.type}-longform", need.template, answer, _stated)
    if isinstance(answered, JudgeErrored):
        return answered
    statements, spent = answered
    values: Json = {**variables, "context": _joined(context), "statements": [*statements]}
    judged = await ask(f"{need.type}-nli", STATEMENTS, values, lambda text: _held(text, len(statements)))
    if isinstance(judged, JudgeErrored):
        return judged
    spent.include(judged[1])
    return judged[0], spent


PROTOCOLS: dict[
    str, Callable[[Ask, GradeNeed, Json, Context], Awaitable[tuple[Grade, QuestionCost] | JudgeErrored]]
] = {
    "context-recall": recall,
    "context-relevance": relevance,
    "context-faithfulness": faithfulness,
}


def _joined(context: Context) -> str:
    return context if isinstance(context, str) else "\n\n".join(context)


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _sentences(text: str) -> list[str]:
    lines = _lines(text)
    parts = lines if len(lines) > 1 else re.split(r"(?<=[.!?])\s+", text)
    return [part.strip() for part in parts if part.strip() and not _MARKER.match(part.strip())]


def _share(holds: int, of: int, reason: str) -> Grade:
    return Grade(passed=True, score=holds / of if of else 0.0, reason=f"{holds} of {of} {reason}")


def _attributed(text: str) -> Grade | Flaw:
    lines = [line.lower() for line in _lines(text)]
    not_so = [line for line in lines if "[not attributed]" in line]
    so = [line for line in lines if "[attributed]" in line and "[not attributed]" not in line]
    if not so and not not_so:
        return Flaw("it marks nothing as [Attributed] or [Not Attributed]")
    return _share(len(so), len(so) + len(not_so), "statements are attributed to the context")


def _quoted(text: str, context: Context) -> Grade | Flaw:
    in_parts = isinstance(context, list) or len(_lines(context)) > 1
    units: Sequence[str] = (
        [passage for passage in context if passage.strip()] if isinstance(context, list) else _sentences(context)
    )
    if "Insufficient Information" in text:
        return _share(0, len(units), "parts of the context are needed")
    quoted = [*dict.fromkeys((_lines if in_parts else _sentences)(text))]
    whole = _plain(_joined(context))
    if quoted and not any(_plain(_LISTED.sub("", unit)) in whole for unit in quoted):
        return Flaw("it quotes nothing of the context")
    return _share(min(len(quoted), len(units)), len(units), "parts of the context are needed")


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _stated(text: str) -> list[str] | Flaw:
    return _lines(text) or Flaw("it states nothing")


def _held(text: str, statements: int) -> Grade | Flaw:
    text_held = text.lower().strip()
    _, final, verdicts = text_held.partition(_FINAL)
    if final:
        each = [sentence for sentence in verdicts.split(".") if sentence.strip()]
        if not each or not all(re.search(r"\b(?:yes|no)\b", sentence) for sentence in each):
            return Flaw("its final verdicts are not yes or no")
        denied, judged = sum("yes" not in sentence for sentence in each), len(each)
    else:
        denied = text_held.count("verdict: no")
        judged = denied + text_held.count("verdict: yes")
        if not judged:
            return Flaw("it has no verdicts")
    missing = max(0, statements - judged)
    return _share(
        min(max(statements - denied - missing, 0), statements), statements, "statements follow from the context"
    )
