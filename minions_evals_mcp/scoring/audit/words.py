"""Texts as a person would call them equal, and how much of one another says."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from minions_evals_mcp.scoring.audit.lexicon import FUNCTION_WORDS
from minions_evals_mcp.scoring.likeness.similarity import normalised

_WORD = re.compile(r"[^\W_]+(?:[.,:'’\-/][^\W_]+)*", re.UNICODE)
_SCRIPT_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")
_MARKS = re.compile(r"[^\w\s]+")


@lru_cache(maxsize=4096)
def normal(text: str) -> str:
    """The text without case, marks and doubled spaces: equal for texts that say the same in the same words."""
    return " ".join(_MARKS.sub(" ", normalised(text)).split())


def words(text: str) -> list[str]:
    """The text's words in lower case; a script without spaces gives a word for each character."""
    folded = unicodedata.normalize("NFC", text).casefold()
    words_seen: list[str] = []
    for word in _WORD.findall(folded):
        words_seen += list(word) if _SCRIPT_WITHOUT_SPACES.search(word) else [word]
    return words_seen


def content_words(text: str) -> list[str]:
    """The words that say something; all words of a text that has no other."""
    words_seen = words(text)
    return [word for word in words_seen if word not in FUNCTION_WORDS] or words_seen


def share_said(reference: str, text: str) -> float:
    """The share of the reference's words of content that the text has, 0 to 1."""
    wanted, has = Counter(content_words(reference)), Counter(words(text))
    total = sum(wanted.values())
    return sum((wanted & has).values()) / total if total else 1.0


def holds(text: str, part: str) -> bool:
    """Returns whether the text has that part in whole words, whatever case and marks."""
    return f" {normal(part)} " in f" {normal(text)} "
