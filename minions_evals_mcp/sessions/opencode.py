"""opencode: what `opencode export` writes, and what `opencode run --format json` prints."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.sessions.conversation import count, number, objects, plain_text
from minions_evals_mcp.sessions.session import Session, SessionCall, Tokens

HOST = "opencode"
NAME = "opencode"
_EDITS = frozenset(("edit", "write", "patch", "apply_patch", "multiedit"))
_STREAMED = frozenset(("step_start", "step_finish", "tool_use", "text", "error"))


def is_session(first: JsonValue) -> bool:
    """Whether the first value is an export, or the first line of a run."""
    value = obj(first)
    if value.get("type") in _STREAMED:
        return "sessionID" in value
    return str(obj(value.get("info")).get("id", "")).startswith("ses_") and "messages" in value


def read(lines: Iterable[Json]) -> Session:
    """The session that this export, or these lines, are."""
    session = Session(HOST)
    for line in lines:
        session.id = session.id or plain_text(line.get("sessionID"))
        if "messages" in line:
            _export(session, line)
        elif line.get("type") == "error":
            session.failure = _error(line) or "error"
        elif "part" in line:
            session.seen_at(line.get("timestamp"))
            _part(session, obj(line.get("part")), "")
    return session


def _export(session: Session, document: Json) -> None:
    info = obj(document.get("info"))
    session.id, session.version, session.folder = (plain_text(info.get(key)) for key in ("id", "version", "directory"))
    for place, given in enumerate(listed_values(document.get("messages")), 1):
        if not isinstance(given, dict):
            raise InvalidRecordError("must be an object", where=f"messages.{place}")
        message = given
        about = obj(message.get("info"))
        times = obj(about.get("time"))
        session.seen_at(times.get("created"))
        if about.get("role") == "user":
            session.ask(
                "\n".join(plain_text(part.get("text")) for part in objects(message.get("parts")) if _is_asked(part))
            )
            continue
        session.provider = session.provider or plain_text(about.get("providerID"))
        for part in objects(message.get("parts")):
            _part(session, part, plain_text(about.get("modelID")))
        session.seen_at(times.get("completed"))
        session.ended = plain_text(about.get("finish")) or session.ended
        if _is_aborted(about):
            session.interrupt()
        else:
            session.failure = _error(about) or None
            session.is_turn_open = session.is_turn_open or times.get("completed") is None


def _is_asked(part: Json) -> bool:
    return part.get("type") == "text" and part.get("synthetic") is not True


def _part(session: Session, part: Json, model: str) -> None:
    match part.get("type"):
        case "tool":
            _tool(session, part)
        case "text":
            session.say(plain_text(part.get("text")), message=plain_text(part.get("messageID")))
        case "step-finish":
            _add(session.use(model), obj(part.get("tokens")))
            cost = number(part.get("cost"))
            session.cost = session.cost if cost is None else (session.cost or 0.0) + cost
            session.ended = plain_text(part.get("reason")) or session.ended
            if part.get("reason") != "tool-calls":
                session.end()
        case "step-start":
            session.begin()
        case kind:
            session.skip(f"a part of type {kind}")


def _tool(session: Session, part: Json) -> None:
    state = obj(part.get("state"))
    times, about = obj(state.get("time")), obj(state.get("metadata"))
    code = count(about.get("exit"))
    started, ended = number(times.get("start")), number(times.get("end"))
    asked, error = obj(state.get("input")), plain_text(state.get("error"))
    name = plain_text(part.get("tool")) or "unknown"
    if name == "invalid":  # a call of a tool that is not there, or with arguments that it refuses
        name, error = plain_text(asked.get("tool")) or name, plain_text(asked.get("error")) or "invalid call"
    if code:
        error = error or f"exit code {code}"
    call = SessionCall(
        name, plain_text(part.get("callID")), asked, state.get("output"), ok=not error and state.get("status") != "error",
        error=error or None, started=times.get("start"),
        duration_ms=None if started is None or ended is None else max(0.0, ended - started),
        started_session=plain_text(about.get("sessionId")),
    )  # fmt: skip
    session.call(call)
    if call.ok and call.tool in _EDITS:
        session.edit(call, asked.get("filePath", asked.get("path")))


def _add(tokens: Tokens, used: Json) -> None:
    cache = obj(used.get("cache"))
    written = (count(used.get("output")) or 0) + (count(used.get("reasoning")) or 0)
    tokens.add(used.get("input"), cache.get("read"), cache.get("write"), written)


def _is_aborted(message: Json) -> bool:
    """Whether the user stopped the agent: no error of the agent's."""
    return obj(message.get("error")).get("name") == "MessageAbortedError"


def _error(holder: Json) -> str:
    error = obj(holder.get("error"))
    return (
        plain_text(obj(error.get("data")).get("message"))
        or plain_text(error.get("message"))
        or plain_text(error.get("name"))
    )
