"""Langfuse's exports: traces (with their observations and scores inside, or as rows of their own) and items of data sets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj, parsed
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.grouped_rows import first_row, groups
from minions_evals_mcp.interop.logs.records import moment
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced, SkippedSample
from minions_evals_mcp.interop.logs.shapes import objects_under
from minions_evals_mcp.sessions.conversation import count, inputs_of, last_answer, number, summed, texts, without

NAME = "langfuse"
LISTS = frozenset({"", "data"})
TOOL, MODEL = "TOOL", "GENERATION"
_MOMENT: TypeAdapter[datetime] = TypeAdapter(datetime)
ALONE = "scores whose trace is not in the file"


def is_export(seen: JsonValue) -> bool:
    """Returns whether a JSON value is an export of Langfuse's, or its first row."""
    listed = seen if isinstance(seen, list) else obj(seen).get("data")
    first = obj(next(iter(listed), None)) if isinstance(listed, list) else obj(seen)
    return _is_trace(first) or _is_observation(first) or _is_score(first) or _is_item(first)


def _is_trace(row: Json) -> bool:
    return (
        "observations" in row
        or {"id", "timestamp", "sessionId"} <= row.keys()
        or {"id", "timestamp", "projectId"} <= row.keys()
    )


def _is_observation(row: Json) -> bool:
    return "traceId" in row and "type" in row and "startTime" in row


def _is_score(row: Json) -> bool:
    return "dataType" in row and "name" in row and ("traceId" in row or "subject" in row)


def _is_item(row: Json) -> bool:
    return "expectedOutput" in row and ("datasetId" in row or "datasetName" in row)


def _key(row: Json) -> str | None:
    if _is_score(row):
        key = row.get("traceId", obj(row.get("subject")).get("traceId", obj(row.get("subject")).get("id")))
    else:
        key = row.get("traceId") if _is_observation(row) else row.get("id")
    return key if isinstance(key, str) else None


def read(path: Path) -> Iterator[Item]:
    """A sample for each trace and each item; rows of one trace may lie apart."""
    first = first_row(path, LISTS)
    yield EvaluationLog(
        NAME,
        path.stem,
        str(first.get("datasetName") or first.get("projectId") or path.stem),
        own_id=False,
        known_samples=True,
    )
    for where, rows in groups(path, LISTS, _key):
        if _key(rows[0]) is None and not _is_score(rows[0]):
            raise InvalidRecordError("a row has an id, or a traceId", where=where)
        items = [row for row in rows if _is_item(row)]
        yield from (_item(row, where) for row in items)
        traced = [row for row in rows if not _is_item(row)]
        if traced and all(_is_score(row) for row in traced):
            yield from (SkippedSample(ALONE) for _ in traced)
        elif traced:
            yield _trace(traced, where)


def _item(row: Json, where: str) -> LogSample:
    expected = row.get("expectedOutput")
    answer = expected if isinstance(expected, dict) and expected and "" not in expected.values() else None
    return LogSample(
        id=row.get("id"), inputs=inputs_of(parsed(row.get("input"))), targets=texts(expected), expected=answer,
        extra=without(row, "id", "input", "expectedOutput"), where=where,
    )  # fmt: skip


def _trace(rows: list[Json], where: str) -> LogSample:
    trace = next((row for row in rows if not _is_score(row) and not _is_observation(row)), None)
    steps = [*objects_under(trace or {}, "observations", where), *(row for row in rows if _is_observation(row))]
    scores = [*objects_under(trace or {}, "scores", where), *(row for row in rows if _is_score(row))]
    steps.sort(key=lambda step: str(step.get("startTime", "")))
    root = trace or next((step for step in steps if not step.get("parentObservationId")), steps[0] if steps else None)
    if root is None or _key(rows[0]) is None:
        raise InvalidRecordError("a trace has an id", where=where)
    question, answer = _value(root, steps, "input"), _value(root, steps, "output")
    models = [step for step in steps if str(step.get("type", "")).upper() == MODEL]
    return LogSample(
        id=_key(rows[0]),
        case="",
        inputs=inputs_of(question),
        name=str(root.get("name") or ""),
        group=str(root.get("sessionId") or ""),
        produced=Produced(
            output=last_answer(answer) if isinstance(answer, list) else answer,
            messages=tuple(question) if isinstance(question, list) else (),
            tools=tuple(_call(step) for step in steps if str(step.get("type", "")).upper() == TOOL),
            scores=tuple(_score(score) for score in scores),
            agent=str(root.get("name") or ""),
            started=root.get("timestamp", root.get("startTime")),
            completed=next((step.get("endTime") for step in reversed(steps) if step.get("endTime")), None),
            input_tokens=_tokens(models, "input"),
            output_tokens=_tokens(models, "output"),
            cost=number(root.get("totalCost"))
            or summed(number(step.get("calculatedTotalCost", step.get("totalCost"))) for step in models),
            latency_ms=None if (seconds := number(root.get("latency"))) is None else seconds * 1000,
            error=next(
                (
                    str(step.get("statusMessage") or "failed")
                    for step in steps
                    if step.get("level") == "ERROR" and step is root
                ),
                None,
            ),
            extra=without(
                {
                    "rest": without(root, "observations", "scores", "input", "output") or None,
                    "observations": len(steps) or None,
                    "models": [*dict.fromkeys(texts([step.get("model") for step in models]))] or None,
                }
            ),
        ),
        where=where,
    )


def _value(root: Json, steps: list[Json], name: str) -> JsonValue:
    """Returns what the trace says it was given or gave; else its first (or last) model's."""
    value = parsed(root.get(name))
    if value is not None:
        return value
    models = [parsed(step.get(name)) for step in steps if step.get(name) is not None]
    return (models[0] if name == "input" else models[-1]) if models else None


def _tokens(models: list[Json], name: str) -> int | None:
    counted = [
        held
        for step in models
        if (held := count(obj(step.get("usageDetails")).get(name, obj(step.get("usage")).get(name)))) is not None
    ]
    return sum(counted) if counted else None


def _call(step: Json) -> Json:
    step_input = parsed(step.get("input"))
    arguments: Json = (
        step_input if isinstance(step_input, dict) else {} if step_input is None else {"input": step_input}
    )
    failed = str(step.get("statusMessage") or "failed") if step.get("level") == "ERROR" else None
    call: Json = {
        "tool": step.get("name") or "tool", "arguments": arguments, "result": parsed(step.get("output")), "error": failed,
        "id": step.get("id"), "durationMs": _duration(step), "startedAt": moment(step.get("startTime")),
    }  # fmt: skip
    return without(call)


def _duration(step: Json) -> float | None:
    try:
        start, end = (_MOMENT.validate_python(step.get(name)) for name in ("startTime", "endTime"))
        return max(0.0, (end - start).total_seconds() * 1000)
    except (ValidationError, TypeError):
        return None


def _score(row: Json) -> ForeignScore:
    written = row.get("stringValue")  # of words (categorical, text) the number is an index, or always 0
    in_words = written is not None and (
        row.get("value") is None or row.get("dataType") not in {None, "NUMERIC", "BOOLEAN"}
    )
    value = written if in_words else row.get("value")
    about = {"explanation": row.get("comment"), **without(row, "name", "value", "stringValue", "comment", "traceId")}
    return ForeignScore(str(row.get("name")), value, without(about))
