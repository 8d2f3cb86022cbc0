"""Tool calls out of OpenTelemetry's GenAI spans, where the program under evaluation is traced with its SDK."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast
from weakref import WeakKeyDictionary, WeakSet

from minions_evals_mcp.domain.neighbours import ToolCall, tool_calls_of
from minions_evals_mcp.domain.step_spans import tool_step
from minions_evals_mcp.targets.function.messages import plain_json
from minions_evals_mcp.targets.function.tracing import BegunCall, Recorder, current_recorder, missed_call

OPERATION = "gen_ai.operation.name"
TOOL = "execute_tool"
AGENT = "invoke_agent"
ASKING = frozenset({"chat", "generate_content", "text_completion"})


class _Context(Protocol):
    span_id: int


class _Status(Protocol):
    is_ok: bool
    description: str | None


class _Span(Protocol):
    """The part that is used of a span of OpenTelemetry's SDK."""

    name: str
    attributes: Mapping[str, object] | None
    context: _Context
    status: _Status
    start_time: int | None
    end_time: int | None


class _Provider(Protocol):
    def add_span_processor(self, span_processor: object, /) -> None: ...


@dataclass(slots=True, eq=False)
class _Begun:
    """A span that has begun while an output is made, and its call in the log."""

    recorder: Recorder
    call: BegunCall | None = None


@dataclass(slots=True, eq=False)
class _Traced:
    """The facts in the spans of one output beside the tool calls."""

    agents: int = 0
    answers: int = 0
    asked_for_tools: bool = False


@dataclass(eq=False)
class ToolSpans:
    """A span processor: each tool that a span executes becomes a call of the output that is being made around it.

    Where the spans of an agent are seen, or no model's answer asked for a tool, no call means that none was made.
    """

    begun: dict[int, _Begun] = field(default_factory=dict[int, _Begun])
    traced: WeakKeyDictionary[Recorder, _Traced] = field(default_factory=WeakKeyDictionary[Recorder, _Traced])

    def on_start(self, span: _Span, parent_context: object = None) -> None:
        """Notes whose span it is, and keeps the place of a tool's call."""
        del parent_context
        recorder = current_recorder()
        is_tool = (span.attributes or {}).get(OPERATION) == TOOL or span.name.startswith(f"{TOOL} ")
        if recorder is None:
            if is_tool:
                missed_call()
            return
        self.begun[span.context.span_id] = _Begun(recorder, recorder.begun() if is_tool else None)

    def on_end(self, span: _Span) -> None:
        """Writes the call down, or what the span says of how complete the log is."""
        begun = self.begun.pop(span.context.span_id, None)
        if begun is None:
            return
        attributes = span.attributes or {}
        operation = attributes.get(OPERATION)
        if operation == TOOL or begun.call is not None:
            (begun.call or begun.recorder.begun()).call = _call(span, attributes)
            return
        traced = self.traced.setdefault(begun.recorder, _Traced())
        traced.agents += operation == AGENT
        if operation in ASKING:
            traced.answers += 1
            reasons = attributes.get("gen_ai.response.finish_reasons")
            traced.asked_for_tools |= "tool" in str(reasons)
        begun.recorder.complete |= traced.agents > 0
        begun.recorder.without_tools = traced.answers > 0 and not traced.asked_for_tools

    def shutdown(self) -> None:
        """Nothing is held back."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing is held back."""
        del timeout_millis
        return True


_WATCHED: WeakSet[object] = WeakSet()


def watch_spans() -> None:
    """Listens to the program's spans, once for each tracer provider; nothing is installed or set up for it."""
    trace, sdk = sys.modules.get("opentelemetry.trace"), sys.modules.get("opentelemetry.sdk.trace")
    if trace is None or sdk is None:
        return
    provider: object = trace.get_tracer_provider()
    if hasattr(provider, "add_span_processor") and provider not in _WATCHED:
        processor = type("ToolSpans", (ToolSpans, sdk.SpanProcessor), {})  # what else its version calls, the SDK brings
        cast("_Provider", provider).add_span_processor(processor())
        _WATCHED.add(provider)


def _call(span: _Span, attributes: Mapping[str, object]) -> ToolCall:
    taken = (span.end_time or 0) - (span.start_time or 0)
    call = {
        **tool_step(span.name, {name: plain_json(value) for name, value in attributes.items()}),
        "error": None if span.status.is_ok else span.status.description or str(attributes.get("error.type", "failed")),
        "durationMs": taken / 1_000_000 if taken >= 0 else None,
    }
    return tool_calls_of([call])[0]
