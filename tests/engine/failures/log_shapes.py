"""A log of tool calls as Anthropic, OpenAI, LangChain and OpenTelemetry write it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pydantic import JsonValue


class Call(NamedTuple):
    """One call, before it is written in anybody's shape."""

    tool: str
    arguments: JsonValue
    result: JsonValue = None
    error: str | None = None

    @property
    def content(self) -> str:
        """What came back, as text."""
        if self.error is not None:
            return self.error
        return self.result if isinstance(self.result, str) else json.dumps(self.result)


def anthropic(calls: Sequence[Call]) -> JsonValue:
    """Messages with `tool_use` and `tool_result` blocks."""
    log: list[JsonValue] = []
    for number, call in enumerate(calls):
        use: JsonValue = {"type": "tool_use", "id": f"toolu_{number}", "name": call.tool, "input": call.arguments}
        came: JsonValue = {
            "type": "tool_result", "tool_use_id": f"toolu_{number}", "content": call.content, "is_error": call.error is not None
        }  # fmt: skip
        log.append({"role": "assistant", "content": [use]})
        log.append({"role": "user", "content": [came]})
    return log


def openai(calls: Sequence[Call]) -> JsonValue:
    """Messages with `tool_calls` and the role `tool`."""
    log: list[JsonValue] = []
    for number, call in enumerate(calls):
        function: JsonValue = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        asked: JsonValue = {"id": f"call_{number}", "type": "function", "function": function}
        status: dict[str, JsonValue] = {} if call.error is None else {"status": "error"}
        log.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        log.append({"role": "tool", "tool_call_id": f"call_{number}", "content": call.content, **status})
    return log


def langchain(calls: Sequence[Call]) -> JsonValue:
    """Messages of the types `ai` and `tool`."""
    log: list[JsonValue] = []
    for number, call in enumerate(calls):
        asked: JsonValue = {"name": call.tool, "args": call.arguments, "id": f"c{number}", "type": "tool_call"}
        status = "success" if call.error is None else "error"
        log.append({"type": "ai", "content": "", "tool_calls": [asked]})
        log.append({"type": "tool", "content": call.content, "tool_call_id": f"c{number}", "status": status})
    return log


def otel(calls: Sequence[Call]) -> JsonValue:
    """Spans of the operation `execute_tool`."""
    return [_span(number, call) for number, call in enumerate(calls)]


def _span(number: int, call: Call) -> JsonValue:
    attributes: dict[str, JsonValue] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.arguments": json.dumps(call.arguments),
    }
    if call.error is None:
        attributes["gen_ai.tool.call.result"] = call.content
        return {"spanId": f"a{number}", "name": f"execute_tool {call.tool}", "attributes": attributes}
    return {
        "spanId": f"a{number}", "name": f"execute_tool {call.tool}", "attributes": attributes,
        "status": {"status_code": "ERROR", "description": call.error},
    }  # fmt: skip


SHAPES: dict[str, Callable[[Sequence[Call]], JsonValue]] = {
    "anthropic": anthropic, "openai": openai, "langchain": langchain, "otel": otel,
}  # fmt: skip
