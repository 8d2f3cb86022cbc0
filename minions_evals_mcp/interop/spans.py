"""Spans of an OTLP/JSON document, in plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import attributes, obj, parsed
from minions_evals_mcp.domain.values import GREATEST

LATEST = 2**63
"""Beyond that the format has no time."""
ERROR = (2, "2", "STATUS_CODE_ERROR")
ENVIRONMENT = ("deployment.environment.name", "deployment.environment")
"""Attributes of a resource that say where it runs, such as production."""
TOOL_OUTPUT = "tool.output"
"""The event in which Claude Code says what a tool gave."""


@dataclass(frozen=True, slots=True)
class Span:
    """A step of a trace. Times are in nanoseconds since 1970; `service` is the resource's name; `error` is set where it failed."""

    trace_id: str
    id: str
    parent_id: str | None
    name: str
    start: int
    end: int
    service: str | None
    error: str | None
    attributes: Json

    def text(self, *names: str) -> str | None:
        """The first of those attributes that is a text with something in it."""
        values = (self.attributes.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value.strip()), None)

    def number(self, *names: str) -> float | None:
        """The first of those attributes that is a number, and can be a count or a price."""
        values = (self.attributes.get(name) for name in names)
        numbers = (value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
        return next((number for number in numbers if 0 <= number < GREATEST), None)

    def value(self, *names: str) -> JsonValue:
        """The first of those attributes that is there; a JSON text as what it says."""
        value = next((self.attributes[name] for name in names if name in self.attributes), None)
        return parsed(value)


def is_otlp(document: JsonValue) -> bool:
    """Returns whether the document holds traces."""
    return isinstance(document, dict) and isinstance(document.get("resourceSpans"), list)


def spans_of(document: JsonValue) -> Iterator[Span]:
    """The document's spans; raises `ValueError` saying what of one cannot be read."""
    for span, service, around in raw_spans(document):
        read = span_of(span, service)
        about = obj(around.get("resource"))
        named = {name: about[name] for name in ENVIRONMENT if name in about}
        yield replace(read, attributes={**named, **read.attributes}) if named else read


def raw_spans(document: JsonValue) -> Iterator[tuple[Json, str | None, Json]]:
    """The document's spans as they are written, each with the name of the service that it comes from, and all that is said of that."""
    for resource in _objects(document, "resourceSpans"):
        about = attributes(obj(resource.get("resource")).get("attributes"))
        service = about.get("service.name")
        for scope in _objects(resource, "scopeSpans"):
            for span in _objects(scope, "spans"):
                around: Json = {"resource": about, "scope": scope.get("scope")}
                yield span, service if isinstance(service, str) else None, around


def _objects(held: JsonValue, name: str) -> list[Json]:
    """The objects of the list of that name; anything else there would be spans that nobody reads."""
    value = obj(held).get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"{name} is no list of objects")
    return [obj(item) for item in value]


def span_of(span: Json, service: str | None) -> Span:
    """The span in plain values; raises `ValueError` saying what of it cannot be read."""
    trace_id, ident = span.get("traceId"), span.get("spanId")
    if not isinstance(trace_id, str) or not isinstance(ident, str) or not trace_id or not ident:
        raise ValueError("a span has no traceId or no spanId")
    start, end = (_nanos(span.get(name), ident) for name in ("startTimeUnixNano", "endTimeUnixNano"))
    parent = span.get("parentSpanId")
    if not all(
        isinstance(attribute.get("key"), str) and isinstance(attribute.get("value"), dict)
        for attribute in _objects(span, "attributes")
    ):
        raise ValueError(f"an attribute of span {ident} has no key or no value")
    span_attributes = attributes(span.get("attributes"))
    for name, value in _told(span).items():
        span_attributes.setdefault(name, value)
    return Span(
        trace_id, ident, parent if isinstance(parent, str) and parent.strip("0") else None, str(span.get("name", "")),
        start, end, service, _error(obj(span.get("status")), span_attributes), span_attributes,
    )  # fmt: skip


def _told(span: Json) -> Json:
    """What the span's events say that belongs to it: the output of a coding agent's tool."""
    outputs = (
        attributes(event.get("attributes")) for event in _objects(span, "events") if event.get("name") == TOOL_OUTPUT
    )
    texts = (output.get(key) for output in outputs for key in ("content", "output", "diff"))
    text = next((text for text in texts if text), None)
    return {} if text is None else {"gen_ai.tool.call.result": text}


def _nanos(value: JsonValue, ident: str) -> int:
    try:
        nanos = int(str(value or 0))
    except ValueError:
        raise ValueError(f"the times of span {ident} are no whole nanoseconds") from None
    if not 0 <= nanos < LATEST:
        raise ValueError(f"span {ident} lies outside the years 1970 to 2262")
    return nanos


def _error(status: Json, members: Json) -> str | None:
    if status.get("code") not in ERROR:
        return None
    messages = (status.get("message"), members.get("exception.message"), members.get("error.type"))
    return next((text for text in messages if isinstance(text, str) and text.strip()), "failed")
