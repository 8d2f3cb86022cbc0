"""Spans in files: OTLP as JSON (a document, or one a line), as SDKs print them, and a span's attributes alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.tagged_values import attributes, listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.files import json_lines, json_pieces
from minions_evals_mcp.interop.logs.gathering import LogRow, gathered
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, Recorded, SkippedSample
from minions_evals_mcp.interop.logs.shapes import the_object
from minions_evals_mcp.interop.spans import Span, raw_spans, span_of
from minions_evals_mcp.interop.telemetry.sdk_spans import is_sdk_span, otlp_document
from minions_evals_mcp.interop.telemetry.traces import Traces
from minions_evals_mcp.sessions.conversation import finite, without

NAME = "otel"
MARKS = ("gen_ai.operation.name", "openinference.span.kind", "llm.request.type")
"""What tells that a mapping holds the attributes of one span."""
_READ = ("traceId", "spanId", "parentSpanId", "name", "startTimeUnixNano", "endTimeUnixNano", "attributes")
EVALUATION = "gen_ai.evaluation.result"
PAGE = "data"
"""What a page of Phoenix's API holds its spans in."""
OTHER = "a line without spans"
NOTHING = "a trace in which no agent, model or tool was at work"


def is_spans(seen: JsonValue) -> bool:
    """Returns whether a JSON value holds spans."""
    if is_sdk_span(next(iter(listed_values(seen) or listed_values(obj(seen).get(PAGE))), seen)):
        return True
    document = obj(seen)
    return "resourceSpans" in document or any(mark in document for mark in MARKS)


def read(path: Path) -> Iterator[Item]:
    """An agent-run for each agent's span, or each trace of a model or tool, once all spans of its trace were read."""
    yield EvaluationLog(NAME, path.stem, path.stem, own_id=False)
    for where, _, spans in gathered(lambda: _spans(path)):
        trace = [span for span in spans if span is not None]
        yield from trace_runs(trace, where) if trace else (SkippedSample(OTHER),)


class TraceSpan(NamedTuple):
    """A span of a trace, its evaluation events by name, and what else is said of it."""

    span: Span
    events: Json
    rest: Json


def trace_runs(trace: list[TraceSpan], where: str) -> Iterator[Item]:
    """The agent-runs of one whole trace, with what its spans say besides."""
    traces = Traces()
    traces.add((part.span for part in trace), now=0.0)
    runs = traces.completed(now=0.0, at_once=True)
    if not runs:
        yield SkippedSample(NOTHING)
    for run in runs:
        yield Recorded(with_rest(run, trace), where)


def with_rest(run: Json, trace: list[TraceSpan]) -> Json:
    """The agent-run with what its own span says as it is, and the scores that the trace brings."""
    fields = obj(run.get("fields"))
    root = next((part for part in trace if str(run["id"]).endswith(f"/{part.span.id}")), trace[0])
    scores: list[JsonValue] = [score.wire() for part in trace for score in _scores(part.events)]
    log: Json = {"format": NAME, "trace": root.span.trace_id, "span": root.span.id}
    extra = without({"attributes": root.span.attributes, "rest": root.rest or None, "foreignScores": scores or None})
    return {**run, "fields": {**fields, "extra": finite({"log": log, **extra})}}


def _scores(events: Json) -> Iterator[ForeignScore]:
    for event in listed_values(events.get(EVALUATION)):
        fields = obj(event)
        value = fields.get("gen_ai.evaluation.score.value", fields.get("gen_ai.evaluation.score.label"))
        name = str(fields.get("gen_ai.evaluation.name", EVALUATION))
        label, words = fields.get("gen_ai.evaluation.score.label"), fields.get("gen_ai.evaluation.explanation")
        rest = without(
            fields, *(f"gen_ai.evaluation.{key}" for key in ("name", "score.value", "score.label", "explanation"))
        )
        yield ForeignScore(name, value, without({"label": label, "explanation": words, "attributes": rest or None}))


def _spans(path: Path) -> Iterator[LogRow[TraceSpan | None]]:
    """Yields each span and its trace; no span for what is none."""
    for where, value in _documents(path):
        document = the_object(value, where)
        if is_sdk_span(document):
            document = otlp_document(document)
        if any(mark in document for mark in MARKS):
            alone = _alone(document)
            yield LogRow(where, alone.trace_id, TraceSpan(alone, {}, {}))
            continue
        if "resourceSpans" not in document:
            yield LogRow(where, None, None)
            continue
        try:
            for raw, service, around in raw_spans(document):
                span = span_of(raw, service)
                yield LogRow(where, span.trace_id, TraceSpan(span, _events(raw), _rest(raw, around)))
        except ValueError as error:
            raise InvalidRecordError(str(error), where=where) from None


def _rest(raw: Json, around: Json) -> Json:
    """Returns what else the span says, without its evaluations, and what it comes from."""
    others: list[JsonValue] = [
        event for event in listed_values(raw.get("events")) if obj(event).get("name") != EVALUATION
    ]
    return without({**without(raw, *_READ, "events"), "events": others or None, **without(around)})


def _events(raw: Json) -> Json:
    """The span's evaluations, by the name of the event."""
    events: list[JsonValue] = [
        attributes(obj(event).get("attributes"))
        for event in listed_values(raw.get("events"))
        if obj(event).get("name") == EVALUATION
    ]
    return {EVALUATION: events} if events else {}


def _documents(path: Path) -> Iterator[tuple[str, JsonValue]]:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from json_lines(path)
        return
    head: Json = {}
    for number, piece in enumerate(json_pieces(path, streamed=frozenset({"resourceSpans", PAGE, ""})), 1):
        if piece.path in ("", PAGE):
            yield f"{path}: {number}", piece.value
        elif piece.path == "resourceSpans":
            yield f"{path}: resourceSpans.{number}", {"resourceSpans": [piece.value]}
        else:
            head[piece.path] = piece.value
    if any(mark in head for mark in MARKS) or is_sdk_span(head):
        yield str(path), head


def _alone(fields: Json) -> Span:
    """The span whose attributes these are; it is its own trace."""
    ident = digest(finite(fields))
    return Span(ident[:32], ident[32:48], None, _name(fields), 0, 0, None, None, fields)


def _name(fields: Json) -> str:
    """Returns what was at work: the model that answered, the tool, else the operation."""
    named = (
        fields.get(key)
        for key in ("gen_ai.agent.name", "gen_ai.response.model", "llm.model_name", "gen_ai.tool.name", MARKS[0])
    )
    return next((name for name in named if isinstance(name, str) and name.strip()), "span")
