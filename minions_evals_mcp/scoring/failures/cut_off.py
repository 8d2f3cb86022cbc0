"""JSON that ends before it is closed, whatever was expected: an output that was cut off."""

from __future__ import annotations

import json
import re

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.texts import FENCE

_BEGINS = late(r"\{\s*\"|\[\s*[\[{\"]")
_FENCED = late(rf"{FENCE}(?:json)?\s*(?=[\[{{])", re.IGNORECASE)
_LITERALS = ("true", "false", "null")


def cut_off_json(text: str) -> str | None:
    """The end of a text that begins as JSON, alone or in a code fence, and stops in the middle of it; else None."""
    bare = text.strip()
    opened = _FENCED.search(bare)
    if opened is not None:
        bare = bare[opened.end() :]
        if FENCE in bare:
            return None
    if not _BEGINS.match(bare):
        return None
    try:
        json.loads(bare)
    except json.JSONDecodeError as error:
        return bare[-40:] if _stops(bare, error) else None
    except RecursionError:
        return None
    return None


def _stops(text: str, error: json.JSONDecodeError) -> bool:
    """Tells whether the error is that the text ends: nothing follows its place, or only the beginning of a value."""
    rest = text[error.pos :].strip()
    if error.msg.startswith("Unterminated string"):
        return "\n" not in rest
    return not rest or rest == "-" or any(literal.startswith(rest) for literal in _LITERALS)
