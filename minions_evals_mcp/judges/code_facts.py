"""The facts of an output and its test that a person's code is given, by promptfoo's names for it; what is not known is not there."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.tagged_values import without_none
from minions_evals_mcp.scoring.reserved_inputs import HIDDEN


def told_of(seen: Observed, value: JsonValue, prompt: str, inputs: Json, written: Json) -> Json:
    """The parts of `context` beside the variables: `prompt`, `test`, `provider`, `providerResponse` and what is in it."""
    response = _response(seen, value)
    wire: Json = {"providerResponse": response}
    if prompt:
        wire["prompt"] = prompt
    if written:
        wire["test"] = {**written, "vars": {name: value for name, value in inputs.items() if name not in HIDDEN}}
    if seen.told is not None and seen.told.provider:
        wire["provider"] = seen.told.provider
    wire |= {name: response[name] for name in ("metadata", "logProbs") if response.get(name) is not None}
    if seen.told is not None and seen.told.trace:
        wire["trace"] = seen.told.trace
    elif seen.tool_calls is not None:
        wire["trace"] = {"spans": [*_spans(seen.tool_calls)]}
    return wire


def _response(seen: Observed, value: JsonValue) -> Json:
    measured: Json = {
        "cost": seen.cost_usd, "latencyMs": seen.latency_ms, "finishReason": seen.finish_reason, "tokenUsage": _usage(seen),
    }  # fmt: skip
    known: Json = without_none(measured)
    return {**known, **({} if seen.told is None else seen.told.response), "output": value}


def _usage(seen: Observed) -> Json | None:
    if seen.input_tokens is None or seen.output_tokens is None:
        return None
    total = seen.input_tokens + seen.output_tokens
    return {"prompt": seen.input_tokens, "completion": seen.output_tokens, "total": total}


def _spans(calls: tuple[ToolCall, ...]) -> Iterator[JsonValue]:
    for number, call in enumerate(calls):
        attributes: Json = {"tool.name": call.tool, "tool.arguments": call.arguments}
        yield {"spanId": str(number), "name": call.tool, "attributes": attributes}
