"""Spans of coding agents: whose they are, and what they add to a turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import content_text
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.interop.spans import Span
from minions_evals_mcp.sessions.session import Session, SessionCall
from minions_evals_mcp.sessions.telemetry import EDITING

CLAUDE, GEMINI = "claude-code", "gemini-cli"
INTERACTION = "claude_code.interaction"
_CLAUDE_TOOL, _CLAUDE_RUN, _CLAUDE_MODEL = (f"claude_code.{name}" for name in ("tool", "tool.execution", "llm_request"))
_GEMINI_TOOL, _GEMINI_MODEL = "tool_call", "llm_call"
_MODELS, _TOOLS = (_CLAUDE_MODEL, _GEMINI_MODEL), (_CLAUDE_TOOL, _CLAUDE_RUN, _GEMINI_TOOL)
MILLI = 1_000_000


def host_of(span: Span) -> tuple[str, str] | None:
    """The coding agent and the session that the span belongs to; None for a span of any other program."""
    session = span.text("gen_ai.conversation.id", "session.id")
    if session is None:
        return None
    if span.name.startswith("claude_code."):
        return CLAUDE, session
    return (GEMINI, session) if span.text("gen_ai.agent.name") == GEMINI else None


def prompt_of(span: Span) -> str:
    """The id of the turn that the span belongs to, where it says so: Gemini CLI does, also of each tool call."""
    asked = span.value("gen_ai.input.messages")
    calls = [asked] if isinstance(asked, dict) else listed_values(asked)
    named = (obj(call).get("prompt_id") for call in calls)
    return span.text("gen_ai.prompt.name") or next((ident for ident in named if isinstance(ident, str)), "")


def root_of(span: Span, by_id: dict[str, Span]) -> str:
    """The id of the interaction above the span; "" where it has not come."""
    seen: set[str] = set()
    at: Span | None = span
    while at is not None and at.id not in seen:
        if at.name == INTERACTION:
            return at.id
        seen.add(at.id)
        at = by_id.get(at.parent_id or "")
    return ""


def fill(session: Session, spans: Iterable[Span]) -> None:
    """Add to the turn what its spans say and its events do not."""
    ordered = sorted(spans, key=lambda span: (span.start, span.end, span.id))
    may_be_open = session.is_turn_open or (session.started is None and bool(ordered))
    if session.started is None and ordered:
        session.seen_at(ordered[0].start // MILLI)
        session.seen_at(max(span.end for span in ordered) // MILLI)
    if not session.prompts:
        session.ask(next((text for span in ordered if (text := _asked(span))), ""))
    _fill_calls(session, ordered)
    models = [span for span in ordered if span.name in _MODELS]
    _fill_tokens(session, models)
    if not session.answer:
        session.say(next((text for span in reversed(models) if (text := _answered(span))), ""))
    if not session.ended and models:
        session.ended = models[-1].text("stop_reason")
    roots = [span for span in ordered if span.name == INTERACTION]
    session.is_turn_open = may_be_open and not roots and not _ends_with_model(ordered)
    if session.failure is None:
        session.failure = next((span.error for span in roots if span.error), None)


def _ends_with_model(ordered: list[Span]) -> bool:
    """Whether the model answered after the last call, and asked for no other."""
    last = max((span for span in ordered if span.name in (*_MODELS, *_TOOLS)), key=lambda span: span.end, default=None)
    return last is not None and last.name in _MODELS and last.text("stop_reason") != "tool_use"


def _asked(span: Span) -> str:
    """What the user asked, as an interaction says it, or the first request to Gemini's model: its last text."""
    if span.name == INTERACTION:
        return span.text("user_prompt") or ""
    if span.name != _GEMINI_MODEL:
        return ""
    texts = [
        text
        for message in listed_values(span.value("gen_ai.input.messages"))
        if obj(message).get("role") == "user"
        for part in listed_values(obj(message).get("parts"))
        if isinstance(text := obj(part).get("text"), str) and not text.startswith("<session_context>")
    ]
    return texts[-1] if texts else ""


def _answered(span: Span) -> str:
    """The text that a model's span ends with."""
    parts = [
        obj(part)
        for message in listed_values(span.value("gen_ai.output.messages"))
        for part in listed_values(obj(message).get("parts"))
    ]
    return "".join(str(part.get("text", part.get("content", ""))) for part in parts if part.get("thought") is not True)


def _fill_tokens(session: Session, models: list[Span]) -> None:
    """Count the tokens of the spans where the events tell of fewer: an exporter that is cut off loses its last events."""
    counted = Session(session.host)
    for span in models:
        _use(counted, span)
    if sum(used.total for used in counted.models.values()) > sum(used.total for used in session.models.values()):
        session.models, session.cost = counted.models, None


def _use(session: Session, span: Span) -> None:
    used = session.use(span.text("gen_ai.response.model", "gen_ai.request.model"))
    if span.name == _CLAUDE_MODEL:
        used.add(*(span.number(f"{kind}_tokens") for kind in ("input", "cache_read", "cache_creation", "output")))
    else:
        used.add(span.number("gen_ai.usage.input_tokens"), None, None, span.number("gen_ai.usage.output_tokens"))


def _fill_calls(session: Session, spans: list[Span]) -> None:
    """Give the calls what their spans say besides, and add those that no event told of."""
    unnamed = [call for ident, call in session.calls.items() if ident.startswith("call-")]
    runs = {span.parent_id: span for span in spans if span.name == _CLAUDE_RUN}
    for told in _calls(spans, runs):
        call = session.calls.get(told.id)
        if call is None:
            call = next((call for call in unnamed if call.tool == told.tool), None)
            unnamed = [other for other in unnamed if other is not call]
        if call is None:
            session.call(told)
            if told.ok and told.tool in EDITING:
                session.edit(told, obj(told.arguments).get("file_path"))
            continue
        call.result = told.result if call.result is None else call.result
        call.duration_ms = told.duration_ms if call.duration_ms is None else call.duration_ms
        call.arguments = call.arguments or told.arguments


def _calls(spans: list[Span], runs: dict[str | None, Span]) -> Iterator[SessionCall]:
    for span in spans:
        if span.name == _CLAUDE_TOOL:
            yield _claude_call(span, runs.get(span.id))
        elif span.name == _GEMINI_TOOL:
            yield _gemini_call(span)


def _claude_call(span: Span, run: Span | None) -> SessionCall:
    names = {"file_path": "file_path", "full_command": "command"}
    asked: Json = {key: span.attributes[name] for name, key in names.items() if name in span.attributes}
    failed = None if run is None else run.text("error", "error.type") or run.error
    return _call(span, asked, span.value("gen_ai.tool.call.result"), failed)


def _gemini_call(span: Span) -> SessionCall:
    asked, told = obj(span.value("gen_ai.input.messages")), obj(span.value("gen_ai.output.messages"))
    response = obj(told.get("response"))
    parts = (obj(obj(part).get("functionResponse")) for part in listed_values(response.get("responseParts")))
    outputs = (obj(part.get("response")) for part in parts)
    result = next((output.get("output", output.get("error")) for output in outputs), None)
    failed = None if told.get("status") in (None, "success") else json.dumps(response.get("error", "failed"))
    return _call(span, obj(asked.get("args")), result, failed or span.error)


def _call(span: Span, asked: Json, result: JsonValue, failed: str | None) -> SessionCall:
    ident = span.text("gen_ai.tool.call.id", "gen_ai.tool.call_id", "tool_use_id") or span.id
    text = result if result is None or isinstance(result, str) else content_text(result) or result
    duration = (span.end - span.start) / MILLI if span.end >= span.start else None
    return SessionCall(
        span.text("gen_ai.tool.name", "tool_name") or "unknown", ident, asked, text, ok=failed is None, error=failed,
        started=span.start // MILLI, duration_ms=duration,
    )  # fmt: skip
