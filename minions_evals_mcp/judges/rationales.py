"""Rationales that say nothing: too short, or no more than the verdict again."""

from __future__ import annotations

import re

FEWEST_WORDS = 3
FEWEST_CHARACTERS = 6
"""Of scripts that set no blanks between words."""
VERDICT_WORDS = frozenset(
    (
        "the", "a", "an", "output", "answer", "response", "it", "this", "that", "is", "was", "has", "does", "as", "and", "with",
        "criterion", "rubric", "score", "scored", "scores", "grade", "verdict", "result", "rating", "of", "out", "points", "full", "marks",
        "pass", "passes", "passed", "fail", "fails", "failed", "good", "bad", "ok", "okay", "fine", "yes", "no", "true", "false",
        "correct", "incorrect", "right", "wrong", "met", "not", "meets",
    )
)  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def weakness(rationale: str) -> str:
    """Why the rationale explains nothing; empty where it may."""
    words = _WORD.findall(rationale)
    if len(words) < FEWEST_WORDS and len(_UNSPACED.findall(rationale)) < FEWEST_CHARACTERS:
        return f"A rationale has at least {FEWEST_WORDS} words: say what in the output speaks for or against it."
    if all(word.lower() in VERDICT_WORDS or word.replace(".", "").isdigit() for word in words):
        return "The rationale only repeats the verdict: name what in the output it rests on."
    return ""
