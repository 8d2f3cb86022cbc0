"""Numbers that JSON has no words for: refused where rows are read, without the readers of other formats."""

from __future__ import annotations

import math

from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError


def vet_finite(document: JsonValue) -> None:
    """Refuses a document with a number that is too large for JSON's kind, such as 1e400."""
    if _has_infinity(document):
        raise InvalidRecordError("no JSON: a number is too large; JSON has no infinity")


def _has_infinity(value: JsonValue) -> bool:
    if isinstance(value, str):  # most values are, and a search of the text for such numbers takes four times as long
        return False
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_infinity, value.values()))
    return isinstance(value, list) and any(map(_has_infinity, value))
