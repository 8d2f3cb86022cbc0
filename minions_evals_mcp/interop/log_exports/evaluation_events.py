"""Verdicts as OpenTelemetry's GenAI evaluation events: log records as OTLP/JSON, under the spans that they judge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.domain.values import to_millis, utc
from minions_evals_mcp.interop.log_exports.exported_outputs import Export, ExportedOutput, ExportedScore
from minions_evals_mcp.interop.log_exports.writing import text

EVENT = "gen_ai.evaluation.result"
HEX = frozenset("0123456789abcdefABCDEF")


async def evaluation_events(export: Export) -> AsyncIterator[str]:
    """One document of log records: an event for each score of each output."""
    resource: Json = {"attributes": [_attribute("service.name", "minions-evals")]}
    yield f'{{"resourceLogs": [{{"resource": {text(resource)}, "scopeLogs": [{{"scope": {{"name": "minions-evals"}}, "logRecords": ['
    first = True
    at = str(to_millis(utc(datetime.fromisoformat(export.created))) * 1_000_000) if export.created else "0"
    async for output in export.outputs:
        for event in events(output, at):
            yield ("" if first else ",") + "\n" + text(event)
            first = False
    yield "\n]}]}]}\n"


def events(output: ExportedOutput, at: str) -> list[Json]:
    """The events of one output; with its trace and span where it came from one."""
    log = obj(output.extra.get("log"))
    around = {"traceId": log.get("trace"), "spanId": log.get("span")}
    ids: Json = {key: value for key, value in around.items() if isinstance(value, str) and _is_hex(key, value)}
    if output.error is not None and not output.scores:
        attributes: list[JsonValue] = [
            _attribute("gen_ai.evaluation.name", "minions-evals"),
            _attribute("error.type", "no-verdict"),
        ]
        return [_record(attributes, ids, output, at)]
    return [_record(_attributes(score), ids, output, at) for score in output.scores]


def _is_hex(key: str, value: str) -> bool:
    return len(value) == (32 if key == "traceId" else 16) and set(value) <= HEX


def _record(attributes: list[JsonValue], ids: Json, output: ExportedOutput, at: str) -> Json:
    """The event; without a span it says which of our records it is about."""
    named = [_attribute(f"minions.{name}", value) for name, value in _ours(output) if value]
    return {
        "timeUnixNano": at,
        "observedTimeUnixNano": at,
        "eventName": EVENT,
        "attributes": [*attributes, *named],
        **ids,
    }


def _ours(output: ExportedOutput) -> tuple[tuple[str, str | None], ...]:
    return ("test_case_id", output.case_id), ("agent_run_id", output.agent_run_id), ("test_run_id", output.test_run_id)


def _attributes(score: ExportedScore) -> list[JsonValue]:
    value = score.value
    label = score.about.get("label")
    if isinstance(score.passed, bool):
        label = label or ("pass" if score.passed else "fail")
    elif not isinstance(value, int | float):
        label = label or (value if isinstance(value, str) else text(value))
    attributes: list[JsonValue] = [_attribute("gen_ai.evaluation.name", score.name)]
    if isinstance(value, int | float):
        attributes.append({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": float(value)}})
    if isinstance(label, str) and label:
        attributes.append(_attribute("gen_ai.evaluation.score.label", label))
    if score.reason:
        attributes.append(_attribute("gen_ai.evaluation.explanation", score.reason))
    if score.foreign:
        attributes.append({"key": "minions.foreign", "value": {"boolValue": True}})
    if score.by:
        attributes.append(_attribute("gen_ai.evaluation.evaluator.source", score.by))
    return attributes


def _attribute(key: str, value: str) -> Json:
    return {"key": key, "value": {"stringValue": value}}
