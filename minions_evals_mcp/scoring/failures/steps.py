"""One step of a tool-call log: how it is quoted, and whether it gave anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.texts import cut, leaves

_NO_RESULT = late(
    r"\[\s{0,9}\]|\{\s{0,9}\}|(?:null|none)\b"
    r"|(?:no|0|zero)\s(?:\w{1,30}\s)?(?:results?|match(?:es)?|records?|documents?|hits|rows|data)\b",
    re.IGNORECASE,
)
_NOTICE = 80
_ERROR = late(
    r"^\W*(?:error|exception|timeout|failed)\b|\b[45]\d\d (?:[A-Z][a-z]+ ?)+$|\btimed? ?-?out\b", re.IGNORECASE
)
_COUNT_KEYS = frozenset(
    ("total", "count", "hits", "found", "matches", "results", "total_count", "totalcount", "n", "length")
)


def gave_nothing(call: ToolCall) -> bool:
    """Returns whether a call that asked for data got none; null is no answer at all, and a figure is data."""
    if call.result is None:
        return False
    return not any(_is_data(name, leaf) for name, leaf in leaves(call.result))


def is_error_notice(result: JsonValue) -> bool:
    """Returns whether a call gave nothing but a short notice that it failed."""
    return isinstance(result, str) and len(result) < _NOTICE and _ERROR.search(result) is not None


def step(calls: Sequence[ToolCall], place: int) -> str:
    """The step as it is quoted: its number, from 1, and its tool."""
    return f"step {place + 1} `{cut(calls[place].tool, 60)}`"


def result(call: ToolCall) -> str:
    """Returns what the call gave back, on one line."""
    return cut(value_text(call.result), 100)


def _is_data(name: str, leaf: str | float | None) -> bool:
    if isinstance(leaf, str):
        return bool(leaf.strip()) and not _NO_RESULT.match(leaf.strip())
    return leaf is not None and not (name.casefold() in _COUNT_KEYS and leaf == 0)
