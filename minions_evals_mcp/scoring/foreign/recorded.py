"""The verdict that a recorded score of another tool is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.values import is_finite

WORDS = {
    "c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "correct": 1.0, "incorrect": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0,
    "false": 0.0, "pass": 1.0, "fail": 0.0, "passed": 1.0, "failed": 0.0,
}  # fmt: skip
"""Letters of Inspect's (correct, incorrect, partial, no answer), and the words that tools write for a verdict."""
FULL = 1.0
"""The score from which an output passes where its tool gives no verdict: Inspect's `at_least` and `pass_at` count from there, too."""


class RecordedVerdict(NamedTuple):
    """What a score says: passed, from 0 to 1, and the value as it was recorded."""

    passed: bool
    score: float
    value: str


def verdict_of(score: Mapping[str, JsonValue], *, threshold: float | None = None) -> RecordedVerdict | str:
    """The verdict; else why there is none: the scorer failed, it left the output unscored, or its scale is not known.

    `passed` of the tool comes first; a score at the other end of the scale does not contradict it. A number passes from
    `threshold` on, without one from 1.
    """
    value = score.get("value")
    if error := score.get("error"):
        return f"it failed: {_error_text(error)}"
    if score.get("unscored") or (value in ("NaN", None) and not isinstance(score.get("passed"), bool)):
        return "it left this output unscored"
    number = _number(value)
    shown = str(value)
    if isinstance(said := score.get("passed"), bool):
        fits = number is not None and 0 <= number <= 1 and number != float(not said)
        return RecordedVerdict(said, number if fits and number is not None else float(said), shown)
    if number is None:
        return f"its value {shown[:60]!r} is no verdict"
    if scale := _without_limit(score, threshold):
        return f"its value {shown[:60]} is {scale}"
    if threshold is not None:
        return RecordedVerdict(number >= threshold, min(1.0, max(0.0, number)), shown)
    if not 0 <= number <= 1:
        return f"its value {shown[:60]} is on a scale that the log does not give"
    return RecordedVerdict(number >= FULL, number, shown)


def _error_text(error: JsonValue) -> str:
    """The words of an error, be it a text or an object with a message and perhaps a stack trace."""
    if isinstance(error, dict):
        said = next((error[key] for key in ("error_message", "message") if error.get(key)), None)
        return str(said or error)
    return str(error)


def _without_limit(score: Mapping[str, JsonValue], threshold: float | None) -> str:
    """Why a number says nothing of passing: which way it counts, or from where on; empty where it says it."""
    if score.get("lowerIsBetter"):
        return "better the lower it is, and the log gives no limit"
    return "a grade, and the log gives no pass mark" if score.get("isGrade") and threshold is None else ""


def may_judge(score: Mapping[str, JsonValue]) -> bool:
    """Whether scores of this kind are verdicts, be it that this one failed or left the output unscored."""
    if score.get("isGrade"):
        return False
    if score.get("error") or score.get("unscored") or isinstance(score.get("passed"), bool):
        return True
    return score.get("value") in (None, "NaN") or isinstance(verdict_of(score), RecordedVerdict)


def says_verdict(score: Mapping[str, JsonValue]) -> bool:
    """Whether the tool says in so many words whether the output passed: a truth value, or a word for one."""
    value = score.get("value")
    known = isinstance(value, str) and value.strip().lower() in WORDS
    return isinstance(score.get("passed"), bool) or isinstance(value, bool) or known


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            value = WORDS[known] if (known := value.strip().lower()) in WORDS else float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and is_finite(value) else None
