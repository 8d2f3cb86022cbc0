"""Codex: a rollout file, and what `codex exec --json` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import content_text
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.sessions.conversation import count, plain_text
from minions_evals_mcp.sessions.session import Session, SessionCall, Tokens

HOST = "codex"
NAME = "codex"
_EXIT = re.compile(r"(?:exited with code|Exit code:) (\d+)")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_AROUND = (
    "<environment_context>", "<user_instructions>", "# agents.md instructions", "<instructions>", "<permissions instructions>",
    "<turn_aborted>", "<subagent_notification>", "<user_shell_command>", "<skill>", "<skills_instructions>", "<plugins_instructions>",
    "<apps_instructions>", "<recommended_plugins>", "<model_switch>", "<collaboration_mode>", "<realtime_conversation>",
    "<personality_spec>", "<codex_internal_context", "<goal_context>", "<hook_prompt", "<user_action>", "<heartbeat>", "<app-context>",
    "<in-app-browser-context",
)  # fmt: skip
"""How a message begins that the program wrote in the user's name, in small letters: the fragments of its context."""
_NOTICE = "<subagent_notification>"
_IDE, _ASKED = "# Context from my IDE setup:", "## My request for Codex:"


def is_session(first: JsonValue) -> bool:
    """Whether the first line is one of a rollout, or of `codex exec --json`."""
    line = obj(first)
    if line.get("type") == "thread.started":
        return "thread_id" in line
    return line.get("type") == "session_meta" and "payload" in line


def read(lines: Iterable[Json]) -> Session:
    """The session that these lines are."""
    session = Session(HOST, provider="openai")
    model, used = "", Tokens()
    for line in lines:
        session.seen_at(line.get("timestamp"))
        payload = obj(line.get("payload"))
        match line.get("type"):
            case "session_meta":
                if session.id:  # a fork repeats its parent's
                    continue
                session.id = plain_text(payload.get("id")) or plain_text(payload.get("session_id"))
                session.version, session.folder = plain_text(payload.get("cli_version")), plain_text(payload.get("cwd"))
            case "turn_context":
                model = plain_text(payload.get("model")) or model
            case "response_item":
                _item(session, payload, line.get("timestamp"))
            case "event_msg":
                if payload.get("type") == "token_count":
                    used = _counted(session, model, payload, used)
                else:
                    _event(session, payload)
            case "world_state" | "token_usage_record":
                pass
            case _:
                _printed(session, line)
    return session


def _printed(session: Session, line: Json) -> None:
    """Take a line that `codex exec --json` prints."""
    match line.get("type"):
        case "thread.started":
            session.id = plain_text(line.get("thread_id"))
            session.begin()
        case "item.started" | "item.completed":
            _printed_item(session, obj(line.get("item")), is_over=line.get("type") == "item.completed")
        case "turn.completed":
            usage = obj(line.get("usage"))
            _add(session.use(None), usage)
            session.end()
        case "turn.started":
            session.begin()
        case "turn.failed" | "error":
            session.failure = _message(line) or "the turn failed"
        case "item.updated":
            pass
        case kind:
            session.skip(f"a line of type {kind}")


def _item(session: Session, payload: Json, at: JsonValue) -> None:
    match payload.get("type"):
        case "message":
            text = content_text(payload.get("content"))
            if payload.get("role") == "assistant":
                session.failure = None
                session.say(text)
            elif payload.get("role") == "user":
                _user(session, text)
        case "function_call" | "custom_tool_call" | "local_shell_call" | "mcp_tool_call" | "web_search_call":
            _call(session, payload, at)
        case "function_call_output" | "custom_tool_call_output":
            _output(session, payload)
        case "reasoning":
            pass
        case kind:
            session.skip(f"an item of type {kind}")


def _user(session: Session, text: str) -> None:
    """Take what the user typed, without what an editor puts before it; of what the program says, how a sub-agent ended."""
    if text.startswith(_NOTICE):
        _ended(session, obj(_parsed(text.removeprefix(_NOTICE).partition("</subagent_notification>")[0])))
    elif not text.lstrip()[:40].lower().startswith(_AROUND):
        session.ask(text.partition(_ASKED)[2].strip() or text if text.startswith(_IDE) else text)


def _ended(session: Session, said: Json) -> None:
    """Take how a sub-agent ended: what it answered is the result of the call that started it."""
    agent = said.get("agent_path", said.get("agent_id"))
    call = next((call for call in session.calls.values() if agent and call.started_session == agent), None)
    status = obj(said.get("status"))
    if call is None:
        return
    call.result = status.get("completed") or call.result
    if "errored" in status:
        call.ok, call.error = False, plain_text(status["errored"]) or "the sub-agent failed"


def exit_code(output: str) -> int | None:
    """How a command ended, by the head of its output: what the command printed may speak of other programs."""
    found = _EXIT.search(output.partition("\nOutput:")[0])
    return int(found[1]) if found else None


def _call(session: Session, payload: Json, at: JsonValue) -> None:
    given = payload.get("arguments", payload.get("input", payload.get("action")))
    name = plain_text(payload.get("name")) or plain_text(payload.get("type")).removesuffix("_call")
    space = plain_text(payload.get("namespace"))
    ident = plain_text(payload.get("call_id")) or plain_text(payload.get("id"))
    session.call(SessionCall(f"{space}.{name}" if space else name, ident, _arguments(given), started=at))


def _output(session: Session, payload: Json) -> None:
    call = session.called(plain_text(payload.get("call_id")))
    if call is None:
        session.skip("a result of a call that the file does not hold")
        return
    output = payload.get("output")
    whole = obj(_parsed(output)) if isinstance(output, str) else obj(output)
    code = count(obj(whole.get("metadata")).get("exit_code"))
    text = whole.get("output", whole.get("content", output)) if whole else output
    call.result = text if isinstance(text, str) else content_text(text) or text
    if code is None and isinstance(call.result, str):
        code = exit_code(call.result)
    call.ok = whole.get("success") is not False and not code
    if call.tool.endswith("spawn_agent"):
        call.started_session = plain_text(whole.get("agent_id"))
    if code:
        call.error = f"exit code {code}"
    if call.ok:
        session.edit(call, *_patched(call.arguments))


def _counted(session: Session, model: str, payload: Json, before: Tokens) -> Tokens:
    """Add to the model's tokens what was used since the sum before: a session may change its model. Returns the sum, which runs on."""
    total = obj(obj(payload.get("info")).get("total_token_usage"))
    if not total:
        return before
    now = Tokens()
    _add(now, total)
    start = before if now.total >= before.total else Tokens()  # a smaller sum has begun anew
    session.use(model).add(
        max(0, now.fresh - start.fresh), max(0, now.cached - start.cached), max(0, now.stored - start.stored),
        max(0, now.written - start.written),
    )  # fmt: skip
    return now


def _event(session: Session, payload: Json) -> None:
    match payload.get("type"):
        case "turn_aborted":
            session.interrupt()
        case "task_started" | "turn_started":
            session.begin()
        case "task_complete" | "turn_complete":
            session.say(plain_text(payload.get("last_agent_message")))
            session.end()
        case "error" | "stream_error":
            session.failure = _message(payload) or "error"
        case _:
            pass


def _printed_item(session: Session, item: Json, *, is_over: bool) -> None:
    """Take an item of `codex exec --json`: it is printed when it starts, and whole when it is completed."""
    ident = plain_text(item.get("id"))
    match item.get("type"):
        case "agent_message" if is_over:
            session.failure = None
            session.say(plain_text(item.get("text")))
        case "command_execution":
            call = session.call(SessionCall("shell", ident, {"command": item.get("command")}))
            code = count(item.get("exit_code")) if is_over else None
            call.result = item.get("aggregated_output") if is_over else None
            call.ok, call.error = not code, f"exit code {code}" if code else None
        case "mcp_tool_call":
            _mcp_call(session, item)
        case "file_change":
            changes = [obj(change) for change in listed_values(item.get("changes"))]
            call = session.call(SessionCall("apply_patch", ident, {"changes": [*changes]}))
            if is_over:
                call.result, call.ok = item.get("status"), item.get("status") != "failed"
            if is_over and call.ok:
                session.edit(call, *(change.get("path") for change in changes))
        case "web_search":
            session.call(SessionCall("web_search", ident, {"query": item.get("query")}))
        case kind if is_over:
            session.skip(f"an item of type {kind}")
        case _:
            pass


def _mcp_call(session: Session, item: Json) -> None:
    named = ".".join(filter(None, (plain_text(item.get("server")), plain_text(item.get("tool")))))
    call = session.call(SessionCall(named or "mcp", plain_text(item.get("id")), item.get("arguments")))
    held = obj(item.get("result"))
    call.result = content_text(held.get("content")) or held.get("structured_content")
    call.error = _message({"error": item.get("error")}) or None
    call.ok = call.error is None and item.get("status") != "failed"


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
    return error if isinstance(error, str) else plain_text(obj(error).get("message"))
