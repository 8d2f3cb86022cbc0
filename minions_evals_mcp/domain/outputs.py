"""The text of an output, and what a unit of work saw."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical

TEXT_KEYS = ("output", "text", "content", "response")


def value_text(value: JsonValue) -> str:
    """The text of one JSON value: itself if it is a string, else canonical JSON."""
    return value if isinstance(value, str) else canonical(value)


def output_value(output: Json) -> JsonValue:
    """Returns what an output says: its `output`, else `text`, `content` or `response`, else its only string, else all of it."""
    for key in TEXT_KEYS:
        if key in output:
            return output[key]
    strings = [value for value in output.values() if isinstance(value, str)]
    return strings[0] if len(strings) == 1 else output


def output_text(output: Json) -> str:
    """The text of what an output says."""
    return value_text(output_value(output))
