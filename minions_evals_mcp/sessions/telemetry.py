"""What coding agents send as OpenTelemetry logs: the turns of their sessions, each an agent-run once it is over."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import attributes, listed_values, obj
from minions_evals_mcp.sessions.codex import EXIT
from minions_evals_mcp.sessions.conversation import count, number, objects
from minions_evals_mcp.sessions.session import Session, SessionCall

_TAKEN = frozenset(
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
QUIET_S = 30.0
"""No event says that a turn is over: it is once another one begins, or nothing came for so long."""
MOST_OPEN = 5_000
FORM = "otel-logs"
_PROVIDERS = {"claude-code": "anthropic", "codex": "openai", "gemini-cli": "google"}
_PREFIXES = {"claude_code": "claude-code", "codex": "codex", "gemini_cli": "gemini-cli"}
"""How the events of each program begin."""
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


@dataclass(frozen=True, slots=True)
class Read:
    """The events of a document, how many records there were, and the names of those that are no coding agent's."""

    events: tuple[LogEvent, ...]
    records: int
    unknown: tuple[str, ...] = ()


def is_logs(first: JsonValue) -> bool:
    """Whether a JSON value holds OTLP log records."""
    return "resourceLogs" in obj(first)


def events_of(document: JsonValue) -> Read:
    """The document's events, in its order; raises `ValueError` where what should be a list of objects is none."""
    events: list[LogEvent] = []
    unknown: dict[str, None] = {}
    records = 0
    for about, record in _records(document):
        records += 1
        event = _event(about, record)
        if event is None:
            unknown[_name(record, attributes(record.get("attributes"))) or "a record without a name"] = None
        else:
            events.append(event)
    return Read(tuple(events), records, tuple(unknown))


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
    named = next(
        (part for part in (fields.get("event.name"), body, record.get("eventName")) if isinstance(part, str)), ""
    )
    return body if isinstance(body, str) and body.endswith(f".{named}") else named


def _event(about: Json, record: Json) -> LogEvent | None:
    fields = attributes(record.get("attributes"))
    prefix, _, name = _name(record, fields).partition(".")
    session = next((value for key in _SESSIONS if isinstance(value := fields.get(key), str) and value), "")
    host = _PREFIXES.get(prefix)
    if host is None or not session:
        return None
    version = about.get("service.version") if host != "gemini-cli" else None  # which is that of Node there
    at = fields.get("event.timestamp") or _moment(record)
    return LogEvent(host, name, session, at, fields, version if isinstance(version, str) else "")


def _moment(record: Json) -> JsonValue:
    nanos = record.get("timeUnixNano", record.get("observedTimeUnixNano"))
    return int(nanos) // 1_000_000 if isinstance(nanos, str | int) and str(nanos).isdecimal() and int(nanos) else None


@dataclass(slots=True)
class _Turn:
    """A turn that is not over yet."""

    session: Session
    seen_at: float
    begun: bool = False


@dataclass(slots=True)
class EventTurns:
    """Events in the order in which they come; time is in seconds of the caller's clock."""

    _open: dict[tuple[str, str], _Turn] = field(default_factory=dict[tuple[str, str], "_Turn"])
    _over: list[Session] = field(default_factory=list[Session])
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    @property
    def waiting(self) -> int:
        """How many turns may still go on."""
        return len(self._open)

    def add(self, events: Iterable[LogEvent], *, now: float) -> list[str]:
        """Take the events in; the ids of turns that were ended because too many are open."""
        for event in events:
            self._add(event, now)
        given_up = list(self._open)[: max(0, len(self._open) - MOST_OPEN)]
        for key in given_up:
            self._over.append(self._open.pop(key).session)
        return [ident for _, ident in given_up]

    def completed(self, *, now: float, at_once: bool = False) -> list[Session]:
        """The turns that are over, each once. `at_once`: nothing more will come."""
        for key, turn in list(self._open.items()):
            if at_once or now - turn.seen_at >= QUIET_S:
                del self._open[key]
                self._over.append(turn.session)
        over, self._over = self._over, []
        return [session for session in over if session.prompts or session.answer or session.calls]

    def _add(self, event: LogEvent, now: float) -> None:
        key = (event.host, event.session)
        turn = self._open.get(key)
        begins = event.name == "user_prompt"
        if turn is None and event.name not in _TAKEN:
            return  # how the program starts is no part of a turn
        if turn is None or (begins and turn.begun):
            if turn is not None:
                self._over.append(turn.session)
            turn = self._open[key] = _Turn(self._session(event, key), now)
        turn.begun = turn.begun or begins
        turn.seen_at = now
        take_event(turn.session, event)

    def _session(self, event: LogEvent, key: tuple[str, str]) -> Session:
        self._numbers[key] = self._numbers.get(key, 0) + 1
        named = event.fields.get("prompt.id")
        turn = named if isinstance(named, str) and named else str(self._numbers[key])
        return Session(event.host, id=f"{event.session}/{turn}", version=event.version, provider=_PROVIDERS[event.host])


def take_event(session: Session, event: LogEvent) -> None:
    """Take one event into its turn."""
    session.seen_at(event.at)
    fields = event.fields
    match event.name:
        case "user_prompt":
            session.ask(_text(fields.get("prompt")) or _text(fields.get("prompt_text")))
        case "assistant_response":
            session.say(_text(fields.get("response")) or _text(fields.get("response_text")))
        case "api_request" if event.host == "claude-code":
            _used(session, fields, ("input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens"))
            cost = number(_figure(fields.get("cost_usd")))
            session.cost = session.cost if cost is None else (session.cost or 0.0) + cost
        case "sse_event" if "input_token_count" in fields:
            _used_whole(session, fields, "cached_token_count")
        case "api_response":
            _used_whole(session, fields, "cached_content_token_count")
            session.say(_gemini_text(fields.get("response_text")))
        case "tool_result" | "tool_call":
            _called(session, event)
        case "api_error":
            session.failure = _text(fields.get("error")) or "the model's API gave an error"
        case _:
            pass


def _called(session: Session, event: LogEvent) -> None:
    fields = event.fields
    name = _text(fields.get("tool_name")) or _text(fields.get("function_name")) or "unknown"
    space = _text(fields.get("mcp_server")) or _text(fields.get("mcp_server_name"))
    ident = _text(fields.get("tool_use_id")) or _text(fields.get("call_id")) or f"call-{len(session.calls) + 1}"
    given = next((fields[key] for key in ("tool_input", "arguments", "function_args") if fields.get(key)), None)
    output = fields.get("output")
    exited = EXIT.search(output) if isinstance(output, str) else None
    code = int(exited[1]) if exited else 0
    ok = str(fields.get("success")).lower() != "false" and not code
    said = (f"exit code {code}" if code else "", _text(fields.get("error")), _text(fields.get("error_type")))
    call = SessionCall(
        f"{space}.{name}" if space and space != "None" else name, ident, _parsed(given), output, ok=ok,
        error=None if ok else next(filter(None, said), "the tool call failed"), started=event.at,
        duration_ms=number(_figure(fields.get("duration_ms"))),
    )  # fmt: skip
    session.call(call)
    asked = obj(call.arguments)
    if ok and name in ("Edit", "Write", "MultiEdit", "NotebookEdit", "replace", "write_file", "apply_patch"):
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
