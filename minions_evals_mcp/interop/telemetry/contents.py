"""The content of a span that comes as log events: what a model was asked, and what it answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.interop.spans import Span
from minions_evals_mcp.sessions.telemetry import ContentEvent

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
CHOICE = "gen_ai.choice"
_PREFIX = "gen_ai."


def with_contents(span: Span, events: Iterable[ContentEvent]) -> Span:
    """The span with what its events say; an attribute of its own stays as it is."""
    contents = content_attributes(events)
    return replace(span, attributes={**contents, **span.attributes}) if contents else span


def content_attributes(events: Iterable[ContentEvent]) -> Json:
    """The attributes that those events of one span come to, in the order of their times."""
    contents: Json = {}
    asked: list[Json] = []
    answered: list[Json] = []
    for event in sorted(events, key=lambda event: (event.at, event.name)):
        body = obj(event.body)
        if event.name == CHOICE:
            calls: Json = {"tool_calls": body["tool_calls"]} if body.get("tool_calls") else {}
            answered.append(_message({"role": "assistant", **calls, **obj(body.get("message", body))}))
        elif event.name.endswith(".message"):
            asked.append(_message({"role": event.name.split(".")[1], **body, **_said(event)}))
        else:
            contents |= {key: value for key, value in {**body, **event.fields}.items() if key.startswith(_PREFIX)}
    if asked:
        contents.setdefault(INPUT, [*asked])
    if answered:
        contents.setdefault(OUTPUT, [*answered])
    return contents


def _said(event: ContentEvent) -> Json:
    """What a message says in its attributes, as some instrumentations write it."""
    return {key: event.fields[key] for key in ("content", "role") if key in event.fields}


def _message(body: Json) -> Json:
    return {key: value for key, value in body.items() if value is not None}


def lone_span(trace_id: str, span_id: str, events: list[ContentEvent]) -> Span | None:
    """The model's span of which only its events came; None where they do not say what was answered."""
    contents = content_attributes(events)
    if not contents.get(OUTPUT):
        return None
    at = max(event.at for event in events)
    fields: Json = {"gen_ai.operation.name": "chat", **contents}
    return Span(trace_id, span_id, None, "chat", at, at, None, None, fields)
