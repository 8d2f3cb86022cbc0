"""Sentences as a page sets them: minus signs, days by their month's name. A terminal and JSON keep the hyphens."""

from __future__ import annotations

import re
from datetime import date

_MINUS = re.compile(r"(?<![\w.\-\u2212])-(?=\d)")
_DAY = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b(?!T)")


def typeset(text: str) -> str:
    """The sentence with minus signs before negative numbers and its days in words. Only for sentences of ours."""
    return _MINUS.sub("\u2212", _DAY.sub(_named_day, text))


def p_words(p_value: float) -> str:
    """A p-value; one that rounds to nothing is told by its bound."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def _named_day(match: re.Match[str]) -> str:
    try:
        day = date(*map(int, match.groups()))
    except ValueError:
        return match[0]
    return f"{day.day} {day:%b %Y}"
