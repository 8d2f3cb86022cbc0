"""What coding agents and instrumentations send as OpenTelemetry logs: events of sessions, and the content of spans."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import attributes, listed_values, obj, plain
from minions_evals_mcp.sessions.codex import exit_code
from minions_evals_mcp.sessions.conversation import count, number, objects
from minions_evals_mcp.sessions.session import Session, SessionCall

TAKEN = frozenset(
    (
        "user_prompt",
        "assistant_response",
        "api_request",
        "sse_event",
        "api_response",
        "tool_result",
        "tool_call",
        "api_error",
    )
)
"""The events of a turn; another one begins none."""
FORM = "otel-logs"
NANOS_DIGITS = 19
"""More no moment has that a store can hold."""
EDITING = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit", "replace", "write_file", "apply_patch"))
"""The tools that change a file."""
PROVIDERS = {"claude-code": "anthropic", "codex": "openai", "gemini-cli": "google"}
_PREFIXES = {"claude_code": "claude-code", "codex": "codex", "gemini_cli": "gemini-cli"}
"""How the events of each program begin."""
CONTENT = frozenset(
    ("gen_ai.client.inference.operation.details", "gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message",
     "gen_ai.tool.message", "gen_ai.choice")
)  # fmt: skip
"""The events by which instrumentations say what their spans leave out: the conventions' new one and the older ones."""
_SESSIONS = ("session.id", "conversation.id", "gen_ai.conversation.id")


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One log record of a coding agent: `name` is the event's, without the program's prefix."""

    host: str
    name: str
    session: str
    at: JsonValue
    fields: Json
    version: str = ""
    trace_id: str = ""
    span_id: str = ""

    @property
    def begins(self) -> bool:
        """Whether the event begins a turn."""
        return self.name == "user_prompt"

    @property
    def prompt(self) -> str:
        """The id of the turn, where the program numbers its turns."""
        named = (self.fields.get(key) for key in ("prompt.id", "prompt_id"))
        return next((ident for ident in named if isinstance(ident, str) and ident), "")


@dataclass(frozen=True, slots=True)
class ContentEvent:
    """A log record that says what a model's span was asked or answered; `at` is in nanoseconds since 1970."""

    trace_id: str
    span_id: str
    name: str
    at: int
    fields: Json
    body: JsonValue = None


@dataclass(frozen=True, slots=True)
class Read:
    """The events of a document, the contents of spans, how many records were left out, and the names of these."""

    events: tuple[LogEvent, ...]
    contents: tuple[ContentEvent, ...] = ()
    left_out: int = 0
    unknown: tuple[str, ...] = ()


def is_logs(first: JsonValue) -> bool:
    """Whether a JSON value holds OTLP log records."""
    return "resourceLogs" in obj(first)


def events_of(document: JsonValue) -> Read:
    """The document's events, in its order; raises `ValueError` where what should be a list of objects is none."""
    events: list[LogEvent] = []
    contents: list[ContentEvent] = []
    unknown: dict[str, None] = {}
    left_out = 0
    for about, record in _records(document):
        fields = attributes(record.get("attributes"))
        name = _name(record, fields)
        if (event := _event(about, record, name, fields)) is not None:
            events.append(event)
        elif name in CONTENT and about.get("service.name") == "gemini-cli":
            continue  # its own events say the same
        elif (content := _content(record, name, fields)) is not None:
            contents.append(content)
        else:
            left_out += 1
            unknown[name or "a record without a name"] = None
    return Read(tuple(events), tuple(contents), left_out, tuple(unknown))


def _records(document: JsonValue) -> Iterator[tuple[Json, Json]]:
    for resource in _each(document, "resourceLogs"):
        about = attributes(obj(resource.get("resource")).get("attributes"))
        for scope in _each(resource, "scopeLogs"):
            for record in _each(scope, "logRecords"):
                yield about, record


def _each(held: JsonValue, name: str) -> list[Json]:
    value = obj(held).get(name)
    if value is not None and (not isinstance(value, list) or not all(isinstance(item, dict) for item in value)):
        raise ValueError(f"{name} is no list of objects")
    return [obj(item) for item in listed_values(value)]


def _name(record: Json, fields: Json) -> str:
    """The event's whole name: its attribute, what the record calls it, or its body."""
    body = obj(record.get("body")).get("stringValue")
    event = record.get("eventName")
    names = (fields.get("event.name"), event if event in CONTENT else None, body, event)
    named = next((part for part in names if isinstance(part, str)), "")
    return body if isinstance(body, str) and body.endswith(f".{named}") else named


def _content(record: Json, name: str, fields: Json) -> ContentEvent | None:
    trace_id, span_id = _ids(record)
    if name not in CONTENT or not trace_id or not span_id:
        return None
    nanos = record.get("timeUnixNano") or record.get("observedTimeUnixNano")
    return ContentEvent(trace_id, span_id, name, _nanoseconds(nanos), fields, plain(obj(record.get("body"))))


def _ids(record: Json) -> tuple[str, str]:
    """The ids of the trace and the span in which the record was written; empty where it was in none."""
    trace_id, span_id = (record.get(key) for key in ("traceId", "spanId"))
    known = [ident if isinstance(ident, str) and ident.strip("0") else "" for ident in (trace_id, span_id)]
    return known[0], known[1]


def _event(about: Json, record: Json, whole: str, fields: Json) -> LogEvent | None:
    prefix, _, name = whole.partition(".")
    session = next((value for key in _SESSIONS if isinstance(value := fields.get(key), str) and value), "")
    host = _PREFIXES.get(prefix)
    if host is None or not session:
        return None
    version = about.get("service.version") if host != "gemini-cli" else None  # which is that of Node there
    at = fields.get("event.timestamp") or _moment(record)
    return LogEvent(host, name, session, at, fields, version if isinstance(version, str) else "", *_ids(record))


def _moment(record: Json) -> JsonValue:
    nanos = record.get("timeUnixNano", record.get("observedTimeUnixNano"))
    return _nanoseconds(nanos) // 1_000_000 or None


def _nanoseconds(said: JsonValue) -> int:
    """The moment that a record tells, in nanoseconds since 1970; 0 where it tells none."""
    text = str(said) if isinstance(said, str | int) else ""
    return int(text) if len(text) <= NANOS_DIGITS and text.isdecimal() else 0


def take_event(session: Session, event: LogEvent) -> None:
    """Take one event into its turn."""
    session.seen_at(event.at)
    fields = event.fields
    match event.name:
        case "user_prompt":
            session.is_turn_open = True
            session.ask(_text(fields.get("prompt")) or _text(fields.get("prompt_text")))
        case "assistant_response":
            session.say(_text(fields.get("response")) or _text(fields.get("response_text")))
        case "tool_decision":
            session.is_turn_open = True
        case "api_request" if event.host == "claude-code":
            _answered(session)
            _used(session, fields, ("input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens"))
            cost = number(_figure(fields.get("cost_usd")))
            session.cost = session.cost if cost is None else (session.cost or 0.0) + cost
        case "sse_event" if "input_token_count" in fields:
            _answered(session)
            _used_whole(session, fields, "cached_token_count")
        case "api_response":
            _answered(session)
            _used_whole(session, fields, "cached_content_token_count")
            session.say(_gemini_text(fields.get("response_text")))
        case "tool_result" | "tool_call":
            _called(session, event)
        case "api_error":
            session.failure = _text(fields.get("error")) or "the model's API gave an error"
        case _:
            pass


def _answered(session: Session) -> None:
    """Take that the model answered: after the turn's last call that is its end, and an error before it was overcome."""
    session.end()
    session.failure = None


def _called(session: Session, event: LogEvent) -> None:
    fields = event.fields
    name = _text(fields.get("tool_name")) or _text(fields.get("function_name")) or "unknown"
    space = _text(fields.get("mcp_server")) or _text(fields.get("mcp_server_name"))
    ident = _text(fields.get("tool_use_id")) or _text(fields.get("call_id")) or f"call-{len(session.calls) + 1}"
    if session.called(ident):  # told twice, as an exporter may
        return
    given = next((fields[key] for key in ("tool_input", "arguments", "function_args") if fields.get(key)), None)
    output = fields.get("output")
    code = (exit_code(output) if isinstance(output, str) else None) or 0
    ok = str(fields.get("success")).lower() != "false" and not code
    said = (f"exit code {code}" if code else "", _text(fields.get("error")), _text(fields.get("error_type")))
    call = SessionCall(
        f"{space}.{name}" if space and space != "None" else name, ident, _parsed(given), output, ok=ok,
        error=None if ok else next(filter(None, said), "the tool call failed"), started=event.at,
        duration_ms=number(_figure(fields.get("duration_ms"))),
    )  # fmt: skip
    session.call(call)
    asked = obj(call.arguments)
    if ok and name in EDITING:
        session.edit(call, asked.get("file_path", asked.get("notebook_path")))


def _used(session: Session, fields: Json, keys: tuple[str, str, str, str]) -> None:
    session.use(fields.get("model")).add(*(_figure(fields.get(key)) for key in keys))


def _used_whole(session: Session, fields: Json, cached_key: str) -> None:
    """Add tokens of which those from the cache are a part of the input, and thoughts are no part of the output."""
    cached = count(_figure(fields.get(cached_key))) or 0
    read = count(_figure(fields.get("input_token_count"))) or 0
    thought = count(_figure(fields.get("thoughts_token_count"))) or 0
    written = (count(_figure(fields.get("output_token_count"))) or 0) + thought
    session.use(fields.get("model")).add(max(0, read - cached), cached, None, written)


def _figure(value: JsonValue) -> JsonValue:
    """The number that a value is, be it written as a text."""
    if not isinstance(value, str):
        return value
    try:
        return float(value) if "." in value or "e" in value.lower() else int(value)
    except ValueError:
        return None


def _gemini_text(value: JsonValue) -> str:
    """The text that Gemini answered with: of the JSON of its response, the parts that are no thoughts."""
    texts = (
        _text(part.get("text"))
        for response in listed_values(_parsed(value))
        for candidate in objects(obj(response).get("candidates"))
        for part in objects(obj(candidate.get("content")).get("parts"))
        if part.get("thought") is not True
    )
    return "".join(texts)


def _parsed(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) and value != "<REDACTED>" else ""
