"""Spans of OpenTelemetry's GenAI conventions and of OpenInference, as steps of ours."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue, TypeAdapter

from minions_evals_mcp.domain.step_fields import arguments_of, error_text, moment_of
from minions_evals_mcp.domain.tagged_values import attributes, obj, parsed
from minions_evals_mcp.domain.values import Json, from_millis, iso, to_millis

NAMES = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
ARGUMENTS = (
    "gen_ai.tool.call.arguments", "tool_arguments", "gen_ai.tool.arguments", "ai.toolCall.args", "tool.parameters", "input.value",
    "traceloop.entity.input", "gcp.vertex.agent.tool_call_args",
)  # fmt: skip
RESULTS = (
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "output.value",
    "traceloop.entity.output",
    "gcp.vertex.agent.tool_response",
)
"""Where the conventions and the common instrumentations (pydantic-ai, Vercel's AI SDK, OpenInference, OpenLLMetry) write a call."""
LONGEST_LITERAL = 100_000
TOOL, AGENT = "execute_tool", "invoke_agent"
FAILED = frozenset((2, "2", "ERROR", "STATUS_CODE_ERROR"))
STANDARD = frozenset(
    ("gen_ai.operation.name", "gen_ai.tool.name", "tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments",
     "gen_ai.tool.call.result", "gen_ai.agent.name", "openinference.span.kind", "tool.parameters", "input.value",
     "output.value", "input.mime_type", "output.mime_type", "tool_arguments", "tool_response", "gen_ai.tool.arguments",
     "ai.toolCall.name", "ai.toolCall.id", "ai.toolCall.args", "ai.toolCall.result", "traceloop.span.kind",
     "traceloop.entity.name", "traceloop.entity.input", "traceloop.entity.output")
)  # fmt: skip
"""Attributes that become fields of a step; the others are extra."""
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def is_span(item: object) -> bool:
    """Returns whether the item is a span, as OTLP or the SDK writes it."""
    return isinstance(item, dict) and "attributes" in item and not {"spanId", "span_id", "context"}.isdisjoint(item)  # pyright: ignore[reportUnknownArgumentType]  checked here


def tool_step(name: str, members: Mapping[str, JsonValue]) -> Json:
    """The step of a tool's span with that name and those attributes, without times, errors and ids."""
    step: Json = {
        "tool": _text(members, *NAMES) or name.removeprefix(f"{TOOL} ") or "tool",
        "arguments": arguments_of(_literal(_value(members, *ARGUMENTS))),
    }
    result = _value(members, *RESULTS)
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
    return _text(_attributes(span), "gen_ai.tool.call.id", "ai.toolCall.id") or _id(span)


def _nanos(span: Json, nanos: str, moment: str) -> int | None:
    """A time of the span in nanoseconds since 1970, as OTLP counts or as the SDK writes it; None where it cannot be read."""
    given = span.get(nanos)
    if isinstance(given, int | str) and str(given).isdigit():
        return int(given)
    written = moment_of(span.get(moment))
    return None if written is None else to_millis(written) * 1_000_000 + written.microsecond % 1000 * 1000


def _is_tool(span: Json, members: Json) -> bool:
    named = "gen_ai.tool.name" in members or str(span.get("name", "")).startswith(f"{TOOL} ")
    operation = members.get("gen_ai.operation.name")
    kinds = (str(members.get(key, "")).upper() for key in ("openinference.span.kind", "traceloop.span.kind"))
    return operation == TOOL or "TOOL" in kinds or "ai.toolCall.name" in members or (named and operation is None)


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


def _literal(value: JsonValue) -> JsonValue:
    """The mapping that a text is as Python writes it: LangChain's tools are given their arguments so."""
    if not isinstance(value, str) or not value.lstrip().startswith("{") or len(value) > LONGEST_LITERAL:
        return value
    try:
        return _JSON.validate_python(ast.literal_eval(value.strip()))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return value
