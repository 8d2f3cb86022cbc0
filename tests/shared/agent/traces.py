"""Traces as an OpenTelemetry SDK exports them, in a few words."""

from __future__ import annotations

import json

from pydantic import JsonValue

from tests.shared.agent.desk import Json

SECOND = 1_000_000_000
BEGAN = 1_790_000_000 * SECOND


def tagged(value: JsonValue) -> Json:
    """The value with its type's name."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [tagged(one) for one in value]}}
        case dict():
            return {"kvlistValue": {"values": [{"key": key, "value": tagged(one)} for key, one in value.items()]}}
        case _:
            return {"stringValue": value}


def span(
    ident: str, name: str, attributes: Json, *, trace: str = "ab" * 16, parent: str = "", seconds: tuple[int, int] = (0, 1),
    error: str | None = None,
) -> Json:  # fmt: skip
    """A span that lasts from the one second to the other."""
    status: Json = {} if error is None else {"code": 2, "message": error}
    return {
        "traceId": trace, "spanId": ident, "parentSpanId": parent, "name": name, "kind": 1, "status": status,
        "startTimeUnixNano": str(BEGAN + seconds[0] * SECOND), "endTimeUnixNano": str(BEGAN + seconds[1] * SECOND),
        "attributes": [{"key": key, "value": tagged(value)} for key, value in attributes.items()],
    }  # fmt: skip


def document(*spans: Json, service: str = "shop") -> Json:
    """The document that holds the spans."""
    resource: Json = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "t"}, "spans": list(spans)}]}]}


def spoken(role: str, text: str) -> str:
    """A list of one message, as the GenAI conventions write it into an attribute."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def agent_span(agent: str, asked: str, said: str) -> Json:
    """An agent's whole work in one span; what it was given is a record."""
    attributes: Json = {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": agent,
        "input.value": json.dumps({"q": asked}), "gen_ai.output.messages": spoken("assistant", said),
    }  # fmt: skip
    return span("00f067aa0ba902b7", f"invoke_agent {agent}", attributes)
