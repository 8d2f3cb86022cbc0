"""The messages of a conversation, however the log writes its messages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import content_text
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.domain.values import GREATEST


def plain_text(value: JsonValue) -> str:
    """The value where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def message_text(message: JsonValue) -> str:
    """Returns what a message says: its content, or its parts."""
    spoken = obj(message)
    return content_text(spoken.get("content", spoken.get("parts")))


def last_answer(messages: Sequence[JsonValue]) -> str | None:
    """The last thing that the assistant said; None where it said nothing."""
    answers = (
        message_text(message) for message in reversed(messages) if obj(message).get("role") in ("assistant", "model")
    )
    return next((text for text in answers if text), None)


def inputs_of(conversation: JsonValue) -> Json:
    """Returns what a sample asks, as a case's inputs: one question as a text, several messages as they are."""
    if isinstance(conversation, list):
        messages = [_plain(obj(message)) for message in conversation if isinstance(message, dict)]
        if len(messages) == 1 and len(conversation) == 1 and set(messages[0]) == {"role", "content"}:
            return (
                {"input": messages[0]["content"]}
                if isinstance(messages[0]["content"], str)
                else {"messages": [*messages]}
            )
        return {"messages": [*messages]} if len(messages) == len(conversation) else {"input": conversation}
    return conversation if isinstance(conversation, dict) else {"input": conversation}


def _plain(message: Json) -> Json:
    """The message without what differs from run to run."""
    return {key: value for key, value in message.items() if key not in {"id", "source"} and value is not None}


def texts(value: JsonValue) -> tuple[str, ...]:
    """The value's texts: of a list each; numbers and booleans as JSON writes them; blank ones are none."""
    if isinstance(value, list):
        return tuple(text for part in value for text in texts(part))
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if isinstance(value, bool):
        return ("true" if value else "false",)
    return (f"{value:g}" if isinstance(value, float) else str(value),) if isinstance(value, int | float) else ()


def number(value: JsonValue) -> float | None:
    """The value if it is a number of something: finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < GREATEST:
        return None
    return float(value)


def count(value: JsonValue) -> int | None:
    """The value if it counts something."""
    counted = number(value)
    return None if counted is None else int(counted)


def finite(value: JsonValue) -> JsonValue:
    """The value with NaN and infinities as their names, which JSON has no numbers for."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list) else value


def without(mapping: Mapping[str, JsonValue], *known: str) -> Json:
    """The mapping without the keys that were read, and without what is null: what is kept as it is."""
    return {key: value for key, value in mapping.items() if key not in known and value is not None}


def objects(listed: JsonValue) -> Iterator[Json]:
    """The objects of a list."""
    return (part for part in (listed if isinstance(listed, list) else []) if isinstance(part, dict))


def summed(values: Iterable[float | None]) -> float | None:
    """The sum of what is there; None where nothing is."""
    held = [value for value in values if value is not None]
    return math.fsum(held) if held else None
