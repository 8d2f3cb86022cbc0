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
        return "\n".join(_text(one) for one in self.messages)

    def apart(self) -> tuple[str | None, tuple[Json, ...]]:
        """What the system says, and the other turns: for a model that is told the system's part beside the messages."""
        system = [_text(one) for one in self.messages if one["role"] in SYSTEM]
        spoken = tuple(one for one in self.messages if one["role"] in SPOKEN)
        return "\n\n".join(system) or None, spoken


def turns(prompt: str) -> Turns | None:
    """The turns that a prompt stands for: a JSON list of messages, else the text as a user's one turn.

    None for messages of other roles, and for parts that are no text.
    """
    try:
        found: JsonValue = json.loads(prompt)
    except (ValueError, RecursionError):
        return _said(prompt)
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) and "role" in one for one in found):
        return _said(prompt)
    messages = tuple(one for one in found if isinstance(one, dict))
    if not all(map(_is_text, messages)) or not any(one["role"] in SPOKEN for one in messages):
        return None
    match found:
        case [{"role": "user", "content": str(user)}]:
            return Turns(messages, (None, user))
        case [{"role": "system" | "developer", "content": str(system)}, {"role": "user", "content": str(user)}]:
            return Turns(messages, (system, user))
        case _:
            return Turns(messages)


def _said(text: str) -> Turns:
    return Turns(({"role": "user", "content": text},), (None, text))


def _is_text(message: Json) -> bool:
    """Whether it is a message of a role that models know, made of nothing but text."""
    content = message.get("content")
    if message["role"] not in SYSTEM | SPOKEN or message.keys() - {"role", "content"}:
        return False
    if isinstance(content, list):
        return bool(content) and all(_is_text_part(one) for one in content)
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
        return "\n".join(str(one["text"]) for one in cast("list[Json]", content))
    return str(content)
