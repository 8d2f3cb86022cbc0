"""Codex: a rollout file, and what `codex exec --json` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.interop.logs.conversation import count, text_of
from minions_evals_mcp.interop.sessions.session import Call, Session, Tokens

HOST = "codex"
NAME = "codex"
EXIT = re.compile(r"(?:exited with code|Exit code:) (\d+)")
"""Where a command's output says how it ended."""
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_AROUND = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>")
"""How a message begins that the program wrote in the user's name."""


def is_session(first: JsonValue) -> bool:
    """Whether the first line is one of a rollout, or of `codex exec --json`."""
    line = obj(first)
    if line.get("type") == "thread.started":
        return "thread_id" in line
    return line.get("type") == "session_meta" and "payload" in line


def read(lines: Iterable[Json]) -> Session:
    """The session that these lines are."""
    session = Session(HOST, provider="openai")
    model = ""
    for line in lines:
        session.seen_at(line.get("timestamp"))
        payload = obj(line.get("payload"))
        match line.get("type"):
            case "session_meta":
                session.id = session.id or _text(payload.get("id")) or _text(payload.get("session_id"))
                session.version, session.folder = _text(payload.get("cli_version")), _text(payload.get("cwd"))
            case "turn_context":
                model = _text(payload.get("model")) or model
            case "response_item":
                _item(session, payload, line.get("timestamp"))
            case "event_msg":
                _event(session, payload, model)
            case "world_state" | "token_usage_record":
                pass
            case _:
                _printed(session, line)
    return session


def _printed(session: Session, line: Json) -> None:
    """Take a line that `codex exec --json` prints."""
    match line.get("type"):
        case "thread.started":
            session.id = _text(line.get("thread_id"))
        case "item.completed":
            _completed(session, obj(line.get("item")))
        case "turn.completed":
            usage = obj(line.get("usage"))
            _add(session.use(None), usage)
        case "turn.failed" | "error":
            session.failure = _message(line) or "the turn failed"
        case "item.started" | "item.updated" | "turn.started":
            pass
        case kind:
            session.skip(f"a line of type {kind}")


def _item(session: Session, payload: Json, at: JsonValue) -> None:
    match payload.get("type"):
        case "message":
            text = text_of(payload.get("content"))
            if payload.get("role") == "assistant":
                session.failure = None
                session.say(text)
            elif payload.get("role") == "user" and not text.startswith(_AROUND):
                session.ask(text)
        case "function_call" | "custom_tool_call" | "local_shell_call" | "mcp_tool_call" | "web_search_call":
            _call(session, payload, at)
        case "function_call_output" | "custom_tool_call_output":
            _output(session, payload)
        case "reasoning":
            pass
        case kind:
            session.skip(f"an item of type {kind}")


def _call(session: Session, payload: Json, at: JsonValue) -> None:
    given = payload.get("arguments", payload.get("input", payload.get("action")))
    name = _text(payload.get("name")) or _text(payload.get("type")).removesuffix("_call")
    space = _text(payload.get("namespace"))
    ident = _text(payload.get("call_id")) or _text(payload.get("id"))
    session.call(Call(f"{space}.{name}" if space else name, ident, _arguments(given), started=at))


def _output(session: Session, payload: Json) -> None:
    call = session.calls.get(_text(payload.get("call_id")))
    if call is None:
        session.skip("a result of a call that the file does not hold")
        return
    output = payload.get("output")
    whole = obj(_parsed(output)) if isinstance(output, str) else obj(output)
    code = count(obj(whole.get("metadata")).get("exit_code"))
    text = whole.get("output", whole.get("content", output)) if whole else output
    call.result = text if isinstance(text, str) else text_of(text) or text
    if code is None and isinstance(call.result, str) and (found := EXIT.search(call.result)):
        code = int(found[1])
    call.ok = whole.get("success") is not False and not code
    if code:
        call.error = f"exit code {code}"
    if call.ok:
        session.edit(call, *_patched(call.arguments))


def _event(session: Session, payload: Json, model: str) -> None:
    match payload.get("type"):
        case "token_count":
            total = obj(obj(payload.get("info")).get("total_token_usage"))
            if total:  # a running sum over the session: the last one counts
                session.models.clear()
                _add(session.use(model), total)
        case "turn_aborted":
            session.interrupt()
        case "task_complete":
            session.say(_text(payload.get("last_agent_message")))
        case "error" | "stream_error":
            session.failure = _message(payload) or "error"
        case _:
            pass


def _completed(session: Session, item: Json) -> None:
    """Take an item of `codex exec --json`, which is whole when it is completed."""
    ident = _text(item.get("id"))
    match item.get("type"):
        case "agent_message":
            session.failure = None
            session.say(_text(item.get("text")))
        case "command_execution":
            code = count(item.get("exit_code"))
            session.call(
                Call(
                    "command_execution", ident, {"command": item.get("command")}, item.get("aggregated_output"),
                    ok=not code, error=f"exit code {code}" if code else None,
                )
            )  # fmt: skip
        case "mcp_tool_call":
            held = obj(item.get("result"))
            error = _message({"error": item.get("error")})
            named = ".".join(filter(None, (_text(item.get("server")), _text(item.get("tool")))))
            result = text_of(held.get("content")) or held.get("structured_content")
            session.call(Call(named or "mcp", ident, item.get("arguments"), result, ok=not error, error=error or None))
        case "file_change":
            changes = [obj(change) for change in listed_values(item.get("changes"))]
            call = Call("file_change", ident, {"changes": [*changes]}, item.get("status"))
            session.call(call)
            session.edit(call, *(change.get("path") for change in changes))
        case "web_search":
            session.call(Call("web_search", ident, {"query": item.get("query")}))
        case kind:
            session.skip(f"an item of type {kind}")


def _patched(arguments: JsonValue) -> list[JsonValue]:
    """The files that a patch among the arguments changes."""
    return [*_PATCHED.findall(json.dumps(arguments).replace("\\n", "\n"))]


def _add(tokens: Tokens, usage: Json) -> None:
    read, cached = count(usage.get("input_tokens")) or 0, count(usage.get("cached_input_tokens")) or 0
    stored = count(usage.get("cache_write_input_tokens")) or 0
    tokens.add(max(0, read - cached - stored), cached, stored, usage.get("output_tokens"))


def _arguments(given: JsonValue) -> JsonValue:
    parsed = _parsed(given) if isinstance(given, str) else given
    return parsed if isinstance(parsed, dict) else {"input": given}


def _parsed(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _message(holder: Json) -> str:
    error = holder.get("error", holder.get("message"))
    return error if isinstance(error, str) else _text(obj(error).get("message"))


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
