"""Spans of OpenTelemetry's GenAI conventions and of OpenInference, as steps of ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from minions_evals_mcp.domain.step_fields import arguments_of, error_text, moment_of
from minions_evals_mcp.domain.tagged_values import attributes, obj, parsed
from minions_evals_mcp.domain.values import Json, from_millis, iso, to_millis

TOOL, AGENT = "execute_tool", "invoke_agent"
FAILED = frozenset((2, "2", "ERROR", "STATUS_CODE_ERROR"))
STANDARD = frozenset(
    ("gen_ai.operation.name", "gen_ai.tool.name", "tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments",
     "gen_ai.tool.call.result", "gen_ai.agent.name", "openinference.span.kind", "tool.parameters", "input.value",
     "output.value", "input.mime_type", "output.mime_type")
)  # fmt: skip
"""Attributes that become fields of a step; the others are extra."""


def is_span(item: object) -> bool:
    """Returns whether the item is a span, as OTLP or the SDK writes it."""
    return isinstance(item, dict) and "attributes" in item and not {"spanId", "span_id", "context"}.isdisjoint(item)  # pyright: ignore[reportUnknownArgumentType]  checked here


def tool_step(name: str, members: Mapping[str, JsonValue]) -> Json:
    """The step of a tool's span with that name and those attributes, without times, errors and ids."""
    step: Json = {
        "tool": _text(members, "gen_ai.tool.name", "tool.name") or name.removeprefix(f"{TOOL} ") or "tool",
        "arguments": arguments_of(_value(members, "gen_ai.tool.call.arguments", "tool.parameters", "input.value")),
    }
    result = _value(members, "gen_ai.tool.call.result", "output.value")
    if result is not None:
        step["result"] = result
    extra = {key: value for key, value in members.items() if key not in STANDARD and not key.startswith("exception.")}
    if extra:
        step["extra"] = extra
    return step


def span_steps(items: Iterable[object]) -> Iterator[Json]:
    """The steps of the tool spans among these, each with the agent under which it stands; other spans are no steps."""
    spans = [obj(item) for item in items]  # pyright: ignore[reportArgumentType]  JSON, else nothing
    by_id = {_id(span): span for span in spans}
    for span in spans:
        span_attributes = _attributes(span)
        if _is_tool(span, span_attributes):
            yield {**tool_step(str(span.get("name", "")), span_attributes), **_around(span, span_attributes, by_id)}


def _around(span: Json, members: Json, by_id: Mapping[str | None, Json]) -> Json:
    """Id, parent, agent, times and error of a tool's span."""
    began, ended = _nanos(span, "startTimeUnixNano", "start_time"), _nanos(span, "endTimeUnixNano", "end_time")
    parent = by_id.get(_parent(span))
    fields: Json = {
        "id": _step_id(span),
        "parentId": None if parent is None or not _is_tool(parent, _attributes(parent)) else _step_id(parent),
        "agent": _agent(span, by_id),
        "startedAt": iso(from_millis(began // 1_000_000)) if began else None,
        "durationMs": (ended - began) / 1_000_000 if began and ended and ended >= began else None,
        "error": _error(span, members),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _step_id(span: Json) -> str | None:
    return _text(_attributes(span), "gen_ai.tool.call.id") or _id(span)


def _nanos(span: Json, nanos: str, moment: str) -> int | None:
    """A time of the span in nanoseconds since 1970, as OTLP counts or as the SDK writes it; None where it cannot be read."""
    given = span.get(nanos)
    if isinstance(given, int | str) and str(given).isdigit():
        return int(given)
    written = moment_of(span.get(moment))
    return None if written is None else to_millis(written) * 1_000_000 + written.microsecond % 1000 * 1000


def _is_tool(span: Json, members: Json) -> bool:
    named = "gen_ai.tool.name" in members or str(span.get("name", "")).startswith(f"{TOOL} ")
    operation = members.get("gen_ai.operation.name"), str(members.get("openinference.span.kind", "")).upper()
    return TOOL in operation or "TOOL" in operation or (named and operation[0] is None)


def _agent(span: Json, by_id: Mapping[str | None, Json]) -> str | None:
    """The name of the nearest agent around the span."""
    seen: set[str | None] = set()
    span_attributes = _attributes(span)
    while (named := _text(span_attributes, "gen_ai.agent.name", "agent.name")) is None:
        parent = _parent(span)
        if parent is None or parent in seen or parent not in by_id:
            return None
        seen.add(parent)
        span = by_id[parent]
        span_attributes = _attributes(span)
    return named


def _error(span: Json, members: Json) -> str | None:
    status = obj(span.get("status"))
    if status.get("code", status.get("status_code")) not in FAILED:
        return None
    message = status.get("message") or status.get("description") or _text(members, "exception.message", "error.type")
    return error_text(message) or "failed"


def _attributes(span: Json) -> Json:
    given = span.get("attributes")
    return given if isinstance(given, dict) else attributes(given)


def _id(span: Json) -> str | None:
    given = span.get("spanId") or span.get("span_id") or obj(span.get("context")).get("span_id")
    return given if isinstance(given, str) else None


def _parent(span: Json) -> str | None:
    given = span.get("parentSpanId") or span.get("parent_span_id") or span.get("parent_id")
    return given if isinstance(given, str) and given.strip("0") else None


def _text(members: Mapping[str, JsonValue], *names: str) -> str | None:
    return next((text for name in names if isinstance(text := members.get(name), str) and text.strip()), None)


def _value(members: Mapping[str, JsonValue], *names: str) -> JsonValue:
    return parsed(next((members[name] for name in names if name in members), None))
