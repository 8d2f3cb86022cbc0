"""The ease of reading an answer, 0 to 1: Flesch's reading ease from the length of sentences and words."""

from __future__ import annotations

import re

from minions_evals_mcp.scoring.ab import is_valid_json

LEAST_WORDS = 5
"""Fewer words have no sentence structure to speak of."""
LONGEST = 100_000
"""So many characters are read."""
LONGEST_WORD = 60

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++(?=\s|$)|\n\s*\n|\n(?=[ \t]*+(?:[-*•]|\d{1,3}[.)])\s)")
_LATIN = re.compile(r"[A-Za-z]")
_CODE_LINE = re.compile(
    r"(?:.*[{};]|[)\]}]+,?|(?:def|class|for|while|if|elif|with|try|except)\b.*:|(?:import|from|return|const|let|var"
    r"|function|public|private|#include|SELECT|INSERT|UPDATE|CREATE)\b.*|\w+(?:\.\w+)*\s*=\s*\S.*|</?\w.*>)"
)


def clarity(output: str) -> float | None:
    """Flesch's reading ease of the prose in an output, mapped to 0–1.

    206.835 - 1.015 · words a sentence - 84.6 · syllables a word (Flesch 1948, J. Applied Psychology 32:221), as a share of
    100 within 0 and 1. None for JSON, code, under five words, and what is not mostly in Latin letters, for which the
    formula was not made.
    """
    prose = _FENCED.sub(" ", output[:LONGEST])
    words = _WORD.findall(prose)
    if len(words) < LEAST_WORDS or is_valid_json(output) or _is_code(prose) or not _is_latin(words):
        return None
    sentences = sum(1 for part in _SENTENCE_END.split(prose) if _WORD.search(part))
    ease = 206.835 - 1.015 * len(words) / sentences - 84.6 * _syllables(words) / len(words)
    return min(1.0, max(0.0, ease / 100))


def _is_latin(words: list[str]) -> bool:
    letters = "".join(words)
    return 2 * len(_LATIN.findall(letters)) > len(letters)


def _is_code(prose: str) -> bool:
    """Returns whether more than half of the lines look like statements."""
    lines = [line.strip() for line in prose.splitlines() if line.strip()]
    return 2 * sum(1 for line in lines if _CODE_LINE.fullmatch(line)) > len(lines)


def _syllables(words: list[str]) -> int:
    import syllapy  # noqa: PLC0415  imported at first use: 40 ms

    return sum(max(1, syllapy.count(word[:LONGEST_WORD])) for word in words)
