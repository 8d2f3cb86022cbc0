"""Conversations in the shapes of Anthropic and OpenAI: the last answer, and the tool calls with their results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.tool_calls import tool_calls_of
from minions_evals_mcp.errors import InvalidRecordError

ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})
"""Types of the items in a reply of OpenAI's Responses API."""
TEXTS = frozenset({"text", "output_text"})


def plain_json(value: object) -> JsonValue:
    """The value in plain JSON: SDKs' objects, dataclasses and dates as what they hold; raises `ValueError`."""
    if isinstance(value, str):
        return value
    try:
        found = to_jsonable_python(value, exclude_none=True)
        json.dumps(found, allow_nan=False)
    except (PydanticSerializationError, ValueError, RecursionError):
        raise ValueError(f"{type(value).__name__} is no text and no JSON") from None
    return found


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was answered last, and every call on the way."""

    text: str
    tool_calls: tuple[ToolCall, ...]


def are_messages(value: JsonValue) -> bool:
    """Whether the value is a conversation: a list of messages, or of a reply's items."""
    return isinstance(value, list) and bool(value) and all(_is_message(one) for one in value)


def _is_message(value: JsonValue) -> bool:
    return isinstance(value, dict) and ("role" in value or value.get("type") in ITEMS)


@dataclass(slots=True)
class _Reading:
    """A conversation while it is read: calls by their ids, in order, and the last thing that was answered."""

    text: str = ""
    calls: dict[str, Json] = field(default_factory=dict[str, Json])

    def called(self, ident: JsonValue, name: JsonValue, arguments: JsonValue) -> None:
        key = str(ident) if ident is not None else f"#{len(self.calls)}"
        self.calls[key] = {"tool": name, "arguments": _arguments(arguments)}

    def answered(self, ident: JsonValue, result: JsonValue, *, failed: bool) -> None:
        call = self.calls.get(str(ident))
        if call is not None:
            call["error" if failed else "result"] = str(result) if failed else result


def transcript(messages: JsonValue) -> Transcript:
    """The last answer and all calls; raises `InvalidRecordError` for a call without a name."""
    reading = _Reading()
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict):
            _read(message, reading)
    return Transcript(reading.text, tool_calls_of(list(reading.calls.values())))


def _read(message: Json, reading: _Reading) -> None:
    match message:
        case {"type": "function_call", "name": name}:
            reading.called(message.get("call_id"), name, message.get("arguments"))
        case {"type": "function_call_output", "call_id": ident}:
            reading.answered(ident, message.get("output"), failed=False)
        case {"role": "tool"}:
            reading.answered(message.get("tool_call_id"), _text(message.get("content")), failed=False)
        case {"role": "assistant"}:
            _read_assistant(message, reading)
        case _:
            _read_results(message, reading)


def _read_assistant(message: Json, reading: _Reading) -> None:
    reading.text = _text(message.get("content"))
    for block in _blocks(message.get("content")):
        if block.get("type") == "tool_use":
            reading.called(block.get("id"), block.get("name"), block.get("input"))
    for call in _blocks(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            reading.called(call.get("id"), function.get("name"), function.get("arguments"))


def _read_results(message: Json, reading: _Reading) -> None:
    for block in _blocks(message.get("content")):
        if block.get("type") == "tool_result":
            failed = block.get("is_error") is True
            reading.answered(block.get("tool_use_id"), _text(block.get("content")), failed=failed)


def _blocks(content: JsonValue) -> list[Json]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    said = [block.get("text") for block in _blocks(content) if block.get("type") in TEXTS]
    return "\n".join(one for one in said if isinstance(one, str))


def _arguments(given: JsonValue) -> Json:
    """The arguments as a mapping: OpenAI writes them as a JSON text."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {"input": given}
    return given if isinstance(given, dict) else {} if given is None else {"input": given}


def calls_given(calls: Iterable[object]) -> tuple[ToolCall, ...]:
    """Calls as they were handed over: ours, {tool, arguments, …}, or in the shape of Anthropic or OpenAI."""
    given = list(calls)
    if all(isinstance(one, ToolCall) for one in given):
        return tuple(one for one in given if isinstance(one, ToolCall))
    return tool_calls_of([_call(plain_json(one)) for one in given])


def _call(given: JsonValue) -> JsonValue:
    match given:
        case {"function": {"name": name, **inside}}:
            return {"tool": name, "arguments": _arguments(inside.get("arguments"))}
        case {"type": "tool_use" | "function_call", "name": name, **inside}:
            return {"tool": name, "arguments": _arguments(inside.get("input", inside.get("arguments")))}
        case {"name": str(name), "args": dict() as arguments}:
            return {"tool": name, "arguments": arguments}
        case dict() | str():
            return {"tool": given} if isinstance(given, str) else given
        case _:
            raise InvalidRecordError(f"{given!r} is no tool call", remedy='Use {"tool": NAME, "arguments": {…}}.')
