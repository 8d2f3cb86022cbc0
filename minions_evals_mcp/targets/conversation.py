"""The conversation that a prompt stands for: JSON messages as chat models take them, or a text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.responses import RESPONSES

SYSTEM = frozenset({"system", "developer"})
SPOKEN = frozenset({"user", "assistant"})
ANSWERING = frozenset({"tool", "function"})
"""Who tells a model what its calls gave."""
OF_CALLS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal"})


@dataclass(frozen=True, slots=True)
class PromptTurns:
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


CHATS = frozenset({"openai_client", "azure_client", "vertex_chat_client"})
"""Clients that speak OpenAI's chat interface."""


def takes_calls(provider: str, model: str) -> bool:
    """Returns whether that model takes messages that call tools, and what these gave, as OpenAI's chat interface has them."""
    return PROVIDERS[provider].client in CHATS and not model.startswith(RESPONSES)


def turns(prompt: str, *, calls: bool = False) -> PromptTurns | None:
    """The turns that a prompt stands for: a JSON list of messages, else the text as a user's one turn.

    None for messages of other roles, and for parts that are no text; with `calls` messages may call tools, and tell what they gave.
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
    if not all(_is_text(message) or (calls and _is_of_calls(message)) for message in messages) or not any(
        message["role"] in SPOKEN for message in messages
    ):
        return None
    match value:
        case [{"role": "user", "content": str(user)}]:
            return PromptTurns(messages, (None, user))
        case [{"role": "system" | "developer", "content": str(system)}, {"role": "user", "content": str(user)}]:
            return PromptTurns(messages, (system, user))
        case _:
            return PromptTurns(messages)


def chat_request(client_provider: str, model: str, conversation: PromptTurns, limit: int, params: Json) -> ModelRequest:
    """The turns as this provider takes them, with those parameters."""
    if conversation.plain is not None:
        system, user = conversation.plain
        return ModelRequest(model, user, limit, system=system, params=params)
    apart = PROVIDERS[client_provider].system_apart
    system, messages = conversation.apart() if apart else (None, conversation.messages)
    # The messages join the body in place of the one turn, which is only what the cost is estimated from.
    return ModelRequest(model, conversation.text, limit, system=system, params={**params, "messages": list(messages)})


def _user_turn(text: str) -> PromptTurns:
    return PromptTurns(({"role": "user", "content": text},), (None, text))


def _is_text(message: Json) -> bool:
    """Returns whether it is a message of a role that models know, made of nothing but text."""
    content = message.get("content")
    if message["role"] not in SYSTEM | SPOKEN or message.keys() - {"role", "content"}:
        return False
    if isinstance(content, list):
        return bool(content) and all(_is_text_part(part) for part in content)
    return isinstance(content, str)


def _is_of_calls(message: Json) -> bool:
    """Returns whether it is a message that calls tools, or tells what they gave."""
    content = message.get("content")
    if message["role"] not in SPOKEN | ANSWERING or message.keys() - OF_CALLS:
        return False
    return content is None or isinstance(content, str) or _is_text({"role": "user", "content": content})


def _is_text_part(part: JsonValue) -> bool:
    return (
        isinstance(part, dict)
        and part.keys() == {"type", "text"}
        and part["type"] == "text"
        and isinstance(part["text"], str)
    )


def _text(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in cast("list[Json]", content))
    return str(content)
