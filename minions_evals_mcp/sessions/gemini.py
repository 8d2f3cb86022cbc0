"""Gemini CLI: a chat file (lines, or one document), and what `gemini --output-format stream-json` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.sessions.conversation import count, objects, plain_text
from minions_evals_mcp.sessions.session import Session, SessionCall, Tokens

HOST = "gemini-cli"
NAME = "gemini-cli"
_EXIT = re.compile(r"^Exit Code: (\d+)", re.MULTILINE)
_SHELL = "run_shell_command"
_EDITS = frozenset(("replace", "write_file", "edit"))
_AROUND = ("<session_context>", "This is the Gemini CLI. We are setting up the context")


def is_session(first: JsonValue) -> bool:
    """Whether the first value is a chat's head, or the first line of a stream."""
    line = obj(first)
    if line.get("type") == "init":
        return "session_id" in line and "model" in line
    return "sessionId" in line and "projectHash" in line


def read(lines: Iterable[Json]) -> Session:
    """The session that these lines are; a message that comes again replaces the one before."""
    session = Session(HOST, provider="google")
    messages: dict[str, Json] = {}
    spoken = ""
    for line in lines:
        session.id = session.id or plain_text(line.get("sessionId")) or plain_text(line.get("session_id"))
        for message in objects(line.get("messages", obj(line.get("$set")).get("messages"))):
            _take(messages, message)
        match line.get("type"):
            case "user" | "gemini" | "error" | "info" | "warning":
                _take(messages, line)
            case "init":
                session.seen_at(line.get("timestamp"))
                session.use(line.get("model"))
                session.begin()
            case None if "response" in line:
                _whole(session, line)
            case "message" | "tool_use" | "tool_result" | "result":
                session.seen_at(line.get("timestamp"))
                spoken = _streamed(session, line, spoken)
            case _:
                pass
    for message in messages.values():
        session.seen_at(message.get("timestamp"))
        _message(session, message)
    return session


def _take(messages: dict[str, Json], message: Json) -> None:
    """Take the message in place of its earlier state. A session that goes on writes its past again, without calls, tokens and times."""
    ident = plain_text(message.get("id")) or str(len(messages))
    before = messages.get(ident, {})
    messages[ident] = {**before, **message, "timestamp": before.get("timestamp", message.get("timestamp"))}


def _message(session: Session, message: Json) -> None:
    match message.get("type"):
        case "user":
            text = _parts_text(message.get("content"))
            if text.startswith("/"):
                session.mention(text)
            elif not text.startswith(_AROUND):
                session.ask(text)
        case "gemini":
            used = obj(message.get("tokens"))
            if used:
                _add(session.use(message.get("model")), used)
            text = _parts_text(message.get("content"))
            if text.strip():
                session.failure = None
                session.say(text)
            for call in objects(message.get("toolCalls")):
                _call(session, call)
        case "error":
            session.failure = _parts_text(message.get("content")) or "error"
        case kind:
            session.skip(f"a message of type {kind}")


def _call(session: Session, given: Json) -> None:
    call = SessionCall(
        plain_text(given.get("name")) or "unknown",
        plain_text(given.get("id")),
        given.get("args"),
        started=given.get("timestamp"),
    )
    answers = [obj(obj(part.get("functionResponse")).get("response")) for part in objects(given.get("result"))]
    answer = answers[0] if answers else {}
    call.result = answer.get("output", answer.get("error", [*answers] if len(answers) > 1 else None))
    call.ok = given.get("status") not in ("error", "cancelled") and "error" not in answer
    code = _EXIT.search(call.result) if call.tool == _SHELL and isinstance(call.result, str) else None
    if code and int(code[1]):
        call.ok, call.error = False, f"exit code {code[1]}"
    if given.get("status") == "cancelled":
        session.interrupt()
    session.call(call)
    if call.ok and call.tool in _EDITS:
        session.edit(call, obj(given.get("resultDisplay")).get("filePath") or obj(call.arguments).get("file_path"))


def _streamed(session: Session, line: Json, spoken: str) -> str:
    """Take a line of a stream; returns the answer so far, which comes in pieces."""
    match line.get("type"), line.get("role"):
        case "message", "user":
            session.ask(plain_text(line.get("content")))
            return ""
        case "message", _:
            spoken += plain_text(line.get("content"))
            session.say(spoken)
            return spoken
        case "tool_use", _:
            name = plain_text(line.get("tool_name")) or "unknown"
            session.call(
                SessionCall(
                    name, plain_text(line.get("tool_id")), line.get("parameters"), started=line.get("timestamp")
                )
            )
        case "tool_result", _:
            _finish(session, line)
        case _:
            _ending(session, line)
    return ""


def _finish(session: Session, line: Json) -> None:
    call = session.called(plain_text(line.get("tool_id")))
    if call is None:
        session.skip("a result of a call that the file does not hold")
        return
    call.result, call.ok = line.get("output"), line.get("status") != "error"
    call.error = plain_text(obj(line.get("error")).get("message")) or None
    if call.ok and call.tool in _EDITS:
        session.edit(call, obj(call.arguments).get("file_path"))


def _ending(session: Session, line: Json) -> None:
    session.end()
    stats = obj(line.get("stats"))
    if line.get("status") != "success":
        session.failure = plain_text(obj(line.get("error")).get("message")) or plain_text(line.get("status")) or "error"
    models = obj(stats.get("models"))
    for model, used in models.items() or (("", stats),):
        figures = obj(used)
        cached = count(figures.get("cached")) or 0
        read = count(figures.get("input_tokens")) or 0
        session.use(model).add(max(0, read - cached), cached, None, figures.get("output_tokens"))


def _whole(session: Session, document: Json) -> None:
    """Take the one object that `--output-format json` prints."""
    session.say(plain_text(document.get("response")))
    session.end()
    error = obj(document.get("error"))
    if error:
        session.failure = plain_text(error.get("message")) or "error"
    for model, about in obj(obj(document.get("stats")).get("models")).items():
        tokens = obj(obj(about).get("tokens"))
        _add(session.use(model), {**tokens, "input": tokens.get("prompt"), "output": tokens.get("candidates")})


def _add(tokens: Tokens, used: Json) -> None:
    """Add one answer's tokens; thoughts are written, what a tool's use read is read."""
    cached = count(used.get("cached")) or 0
    read = (count(used.get("input")) or 0) + (count(used.get("tool")) or 0)
    tokens.add(
        max(0, read - cached), cached, None, (count(used.get("output")) or 0) + (count(used.get("thoughts")) or 0)
    )


def _parts_text(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text for part in listed_values(content) if (text := plain_text(obj(part).get("text"))))
