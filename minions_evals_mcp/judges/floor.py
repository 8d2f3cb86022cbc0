"""The checks before any model: outputs that hold no answer fool judges, so a rule finds them first."""

from __future__ import annotations

from minions_evals_mcp.judges.task import Work, judge_text

OPENERS = (
    "thought process",
    "solution",
    "let's solve this problem step by step",
    "let's think step by step",
    "answer",
    "sure",
)


def no_answer(work: Work) -> str | None:
    """Returns why the output holds no answer at all; None where it may hold one."""
    text = work.text.strip()
    if not text:
        return "the output is empty"
    if _expected_text(work).casefold().startswith(text.casefold()):
        return None
    if not any(character.isalnum() for character in text):
        return "the output has no letter or digit"
    opener = text.casefold().replace("’", "'").strip(" :.,!…*#")
    if opener in OPENERS and not _expected_text(work).casefold().startswith(opener):
        return f"the output is only an opener: {text[:40]!r}"
    if text.casefold() == judge_text(work.inputs).strip().casefold():
        return "the output repeats the question"
    return None


def _expected_text(work: Work) -> str:
    return "" if work.expected is None else judge_text(work.expected).strip()
