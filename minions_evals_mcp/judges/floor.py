"""The one rule before a model judge: an empty output is scored without a call. Any other output is the judge's to read."""

from __future__ import annotations

import unicodedata

from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.judges.task import Work


def no_answer(work: Work) -> str | None:
    """The reason why the output holds no answer at all; None where the judge is asked."""
    shown = work.text.replace("\0", "")
    return "the output is empty" if is_blank(shown) and not any(map(_is_new, shown)) else None


def _is_new(character: str) -> bool:
    """True for a character that this Python's Unicode tables do not know yet, such as the newest emoji."""
    return unicodedata.category(character) in {"Cn", "Co"}
