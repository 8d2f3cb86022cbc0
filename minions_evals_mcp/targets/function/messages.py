"""Conversations in the shapes of Anthropic and OpenAI: the last answer, and the tool calls with their results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall, tool_calls_of
from minions_evals_mcp.domain.step_shapes import TEXTS

ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})
"""Types of the items in a reply of OpenAI's Responses API."""
LANGCHAIN = frozenset({"human", "ai", "tool", "system"})
"""Types of LangChain's messages."""


def plain_json(value: object) -> JsonValue:
    """The value in plain JSON: SDKs' objects, dataclasses and dates as what they hold; raises `ValueError`."""
    try:
        if isinstance(value, str):
            value.encode()  # lone surrogates stand in no record
            return value
        plain = to_jsonable_python(value, exclude_none=True)
        json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()
    except (PydanticSerializationError, ValueError, RecursionError):
        raise ValueError(f"{type(value).__name__} is neither text nor JSON") from None
    return plain


@dataclass(frozen=True, slots=True)
class Transcript:
    """The last answer, and every call on the way."""

    text: str
    tool_calls: tuple[ToolCall, ...]


def are_messages(value: JsonValue) -> bool:
    """Returns whether the value is a conversation: a list of messages, or of a reply's items."""
    return isinstance(value, list) and bool(value) and all(_is_message(message) for message in value)


def _is_message(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    return "role" in value or value.get("type") in ITEMS or (value.get("type") in LANGCHAIN and "content" in value)


def transcript(messages: JsonValue) -> Transcript:
    """The last answer and all calls; raises `InvalidRecordError` for a call without a name."""
    listed = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    answers = [_text(message.get("content")) for message in listed if _is_the_assistants(message)]
    return Transcript(answers[-1] if answers else "", tool_calls_of(messages))


def _is_the_assistants(message: Json) -> bool:
    return message.get("role") == "assistant" or message.get("type") == "ai"


def _text(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if block.get("type") in TEXTS]
    return "\n".join(part for part in texts if isinstance(part, str))


def calls_given(calls: Iterable[object]) -> tuple[ToolCall, ...]:
    """Calls as they were handed over: ours, {tool, arguments, …}, or in another shape that is read everywhere."""
    return tool_calls_of([call if isinstance(call, ToolCall) else plain_json(call) for call in calls])
