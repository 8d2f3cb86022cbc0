"""Spans as the SDKs of OpenTelemetry print them (`to_json`, the console's exporter): one object each, with plain attributes.

Phoenix exports the same: its API as it is, its tables with a column for each attribute (`attributes.llm.model_name`).
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.step_fields import moment_of
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.domain.values import to_millis

_PARTS = ("context", "attributes")


def is_sdk_span(document: JsonValue) -> bool:
    """Whether a JSON value is such a span: its ids are in its context, or beside its name and times."""
    span = _whole(obj(document))
    ids = obj(span.get("context")) or span
    return {"trace_id", "span_id"} <= ids.keys() and {"name", "attributes", "start_time"} <= span.keys()


def _whole(row: Json) -> Json:
    """The span of a table's row: what has a column for each of its parts is one mapping again, without empty cells."""
    if "context.trace_id" not in row:
        return row
    parts: Json = {
        part: {
            name.partition(".")[2]: value
            for name, value in row.items()
            if name.startswith(f"{part}.") and value is not None
        }
        for part in _PARTS
    }
    return {**{name: value for name, value in row.items() if name.partition(".")[0] not in _PARTS}, **parts}


def otlp_document(document: Json) -> Json:
    """The span as an OTLP document."""
    span = _whole(document)
    ids, status = obj(span.get("context")) or span, obj(span.get("status"))
    code = status.get("status_code", status.get("code", span.get("status_code")))
    error = str(code).rpartition(".")[2] == "ERROR"
    given: Json = {
        "traceId": _id(ids.get("trace_id")), "spanId": _id(ids.get("span_id")),
        "parentSpanId": _id(span.get("parent_id", span.get("parent_span_id"))) or None, "name": span.get("name"),
        "startTimeUnixNano": _nanos(span.get("start_time")), "endTimeUnixNano": _nanos(span.get("end_time")),
        "attributes": _attributes(dict(_flat("", obj(span.get("attributes"))))),
        "status": {"code": 2, "message": status.get("description", status.get("message", span.get("status_message")))} if error else {},
        "events": [
            {"name": event.get("name"), "attributes": _attributes(event.get("attributes"))}
            for event in map(obj, listed_values(span.get("events", span.get("span_events"))))
        ],
    }  # fmt: skip
    resource: Json = {"attributes": _attributes(obj(span.get("resource")).get("attributes"))}
    scope = obj(span.get("instrumentation_scope")) or obj(span.get("scope"))
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": [given]}]}]}


def _flat(prefix: str, given: Json) -> Iterator[tuple[str, JsonValue]]:
    """The attributes, with objects of a list each under its place: so OpenInference names messages, which tables hold as lists."""
    for name, value in given.items():
        parts = listed_values(value)
        if parts and all(isinstance(part, dict) for part in parts):
            for place, part in enumerate(parts):
                yield from _flat(f"{prefix}{name}.{place}.", obj(part))
        else:
            yield f"{prefix}{name}", value


def _id(value: JsonValue) -> str:
    return str(value).removeprefix("0x") if isinstance(value, str | int) else ""


_MILLIS = 10**14
"""Up to here a time is in milliseconds, as tables write it."""


def _nanos(value: JsonValue) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value if value > _MILLIS else value * 1_000_000
    moment = moment_of(value)
    return 0 if moment is None else to_millis(moment) * 1_000_000 + moment.microsecond % 1000 * 1000


def _attributes(given: JsonValue) -> list[JsonValue]:
    return [{"key": key, "value": _tagged(value)} for key, value in obj(given).items()]


def _tagged(value: JsonValue) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case list():
            return {"arrayValue": {"values": [_tagged(one) for one in value]}}
        case dict():
            return {"kvlistValue": {"values": _attributes(value)}}
        case _:
            return {}
