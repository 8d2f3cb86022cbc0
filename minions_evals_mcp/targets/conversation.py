"""The conversation that a prompt stands for: JSON messages as chat models take them, or a text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json

SYSTEM = frozenset({"system", "developer"})
SPOKEN = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True)
class Turns:
    """A prompt as a model is sent it. `plain` is what it comes to where it is one user's turn, with or without a system's."""

    messages: tuple[Json, ...]
    plain: tuple[str | None, str] | None = None

    @property
    def text(self) -> str:
        """All that is said, without who says it."""
        return "\n".join(_text(message) for message in self.messages)

    def apart(self) -> tuple[str | None, tuple[Json, ...]]:
        """Returns what the system says, and the other turns: for a model that is told the system's part beside the messages."""
        system = [_text(message) for message in self.messages if message["role"] in SYSTEM]
        spoken = tuple(message for message in self.messages if message["role"] in SPOKEN)
        return "\n\n".join(system) or None, spoken


def turns(prompt: str) -> Turns | None:
    """The turns that a prompt stands for: a JSON list of messages, else the text as a user's one turn.

    None for messages of other roles, and for parts that are no text.
    """
    try:
        value: JsonValue = json.loads(prompt)
    except (ValueError, RecursionError):
        return _user_turn(prompt)
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(message, dict) and "role" in message for message in value)
    ):
        return _user_turn(prompt)
    messages = tuple(message for message in value if isinstance(message, dict))
    if not all(map(_is_text, messages)) or not any(message["role"] in SPOKEN for message in messages):
        return None
    match value:
        case [{"role": "user", "content": str(user)}]:
            return Turns(messages, (None, user))
        case [{"role": "system" | "developer", "content": str(system)}, {"role": "user", "content": str(user)}]:
            return Turns(messages, (system, user))
        case _:
            return Turns(messages)


def _user_turn(text: str) -> Turns:
    return Turns(({"role": "user", "content": text},), (None, text))


def _is_text(message: Json) -> bool:
    """Returns whether it is a message of a role that models know, made of nothing but text."""
    content = message.get("content")
    if message["role"] not in SYSTEM | SPOKEN or message.keys() - {"role", "content"}:
        return False
    if isinstance(content, list):
        return bool(content) and all(_is_text_part(part) for part in content)
    return isinstance(content, str)


def _is_text_part(part: JsonValue) -> bool:
    return (
        isinstance(part, dict)
        and part.keys() == {"type", "text"}
        and part["type"] == "text"
        and isinstance(part["text"], str)
    )


def _text(message: Json) -> str:
    content = message["content"]
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in cast("list[Json]", content))
    return str(content)
