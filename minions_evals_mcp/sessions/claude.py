"""Claude Code: a session file, and what `claude -p --output-format stream-json` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import content_text
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.sessions.claude_users import Notice, take, take_queued, take_refusal
from minions_evals_mcp.sessions.conversation import number, objects, plain_text
from minions_evals_mcp.sessions.session import Session, SessionCall, Tokens

HOST = "claude-code"
NAME = "claude-code"
_SESSION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STORED = frozenset(
    ("queue-operation", "user", "assistant", "attachment", "summary", "system", "file-history-snapshot", "progress")
)
_SPOKEN = frozenset(("user", "assistant"))
_KEYS = ("sessionId", "leafUuid", "snapshot")
_ASIDE = "sidechain"
_GOES_ON = frozenset(("tool_use", "pause_turn"))
"""Why the model stopped where it is to be asked again."""
_EDITS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))


def is_session(first: JsonValue) -> bool:
    """Whether the first line is one of a session file, or of a stream."""
    line = obj(first)
    kind = line.get("type")
    if kind == "system":
        return "subtype" in line and "session_id" in line
    if kind in _STORED and any(key in line for key in _KEYS):
        return not isinstance(line.get("message"), str)  # Gemini CLI's list of prompts
    return _is_of_session(line)


def _is_of_session(line: Json) -> bool:
    """Whether the line is of a kind that we need not know, for each version adds some: all name the session, and little else."""
    ident = line.get("sessionId")
    return (
        isinstance(line.get("type"), str)
        and isinstance(ident, str)
        and _SESSION_ID.fullmatch(ident) is not None
        and not line.keys() & {"projectHash", "payload", "data", "messageId", "session_id"}
    )


def read(lines: Iterable[Json]) -> Session:
    """The session that these lines are."""
    session = Session(HOST, provider="anthropic")
    used: dict[tuple[str, int], tuple[str, Json]] = {}  # lines of one message repeat its usage: the last one counts
    own = ""
    for number_, line in enumerate(lines):
        own = own or (_own_id(line) if line.get("type") in _SPOKEN else "")
        session.id = own or session.id
        _about(session, line)
        match line.get("type"):
            case "user":
                _user(session, line, own)
            case "assistant":
                message = obj(line.get("message"))
                turn = plain_text(message.get("id")) or str(number_), len(session.prompts)
                used[turn] = plain_text(message.get("model")), obj(message.get("usage"))
                _assistant(session, line, message, own)
            case "result":
                _result(session, line)
            case "attachment":
                _went_on(session, take_queued(session, line))
            case "system" if line.get("subtype") == "init":
                session.begin()
            case "cost-state":
                _cost_state(session, line)
            case kind:
                session.skip(f"a line of type {kind}")
    _use_each(session, used.values())
    return session


def _use_each(session: Session, used: Iterable[tuple[str, Json]]) -> None:
    """Take what each message used, where the program writes no sum."""
    if not session.models:
        for model, usage in used:
            _add(session.use(model), usage)


def _about(session: Session, line: Json) -> None:
    """Take what each line says of the session, and when it was written."""
    session.id = session.id or plain_text(line.get("sessionId")) or plain_text(line.get("session_id"))
    session.version = session.version or plain_text(line.get("version")) or plain_text(line.get("claude_code_version"))
    session.folder = session.folder or plain_text(line.get("cwd"))
    if line.get("type") in _SPOKEN:
        session.seen_at(line.get("timestamp"))


def _own_id(line: Json) -> str:
    """The id of the session that begins so: a sub-agent's transcript, which is a file of its own, is a session of its own."""
    session = plain_text(line.get("sessionId")) or plain_text(line.get("session_id"))
    agent = plain_text(line.get("agentId")) if line.get("isSidechain") is True else ""
    return f"{session}/{agent}" if agent else session


def _user(session: Session, line: Json, own: str) -> None:
    for block in objects(obj(line.get("message")).get("content")):
        if block.get("type") == "tool_result":
            _finish(session, block, plain_text(obj(line.get("toolUseResult")).get("agentId")))
    if not _nested(line, own):
        _went_on(session, take(session, line))


def _went_on(session: Session, said: Notice | None) -> None:
    """Take how a call in the background ended: what it brought is its result."""
    call = session.called(said.call) if said else None
    if said is None or call is None:
        return
    call.result = said.result or call.result
    if said.is_failure:
        call.ok, call.error = (
            False,
            f"the background task was {said.status}" if said.status == "killed" else "the background task failed",
        )


def _finish(session: Session, block: Json, started: str) -> None:
    call = session.called(plain_text(block.get("tool_use_id")))
    if call is None:
        session.skip("a result of a call that the file does not hold")
        return
    content = block.get("content")
    call.result = content if isinstance(content, str) else content_text(content) or content
    call.started_session = started
    call.ok = block.get("is_error") is not True
    if not call.ok and isinstance(call.result, str) and not (call.parent or call.agent):
        take_refusal(session, call.result)
    if call.ok and call.tool in _EDITS:
        asked = obj(call.arguments)
        session.edit(call, asked.get("file_path", asked.get("notebook_path")))


def _assistant(session: Session, line: Json, message: Json, own: str) -> None:
    """Take the answer, then the calls. Lines of one message are one answer; what a sub-agent says is none of the session's."""
    nested = _nested(line, own)
    text = content_text(message.get("content"))
    if text.strip() and not nested:
        _said(session, line, message, text)
    for block in objects(message.get("content")):
        if block.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use"):
            session.call(
                SessionCall(
                    plain_text(block.get("name")) or "unknown", plain_text(block.get("id")), block.get("input"),
                    started=line.get("timestamp"), parent=_caller(session, nested), agent=_agent_of(session, nested),
                )
            )  # fmt: skip


def _said(session: Session, line: Json, message: Json, text: str) -> None:
    if line.get("isApiErrorMessage") is True:
        session.failure = text
        return
    session.failure = None
    session.say(text, message=plain_text(message.get("id")))
    session.ended = plain_text(message.get("stop_reason")) or session.ended
    session.is_turn_open = session.is_turn_open or message.get("stop_reason") in _GOES_ON


def _nested(line: Json, own: str) -> str:
    """The call within which a sub-agent wrote this line, or a mark where the file does not say which; "" in its own conversation."""
    parent = plain_text(line.get("parent_tool_use_id"))
    is_aside = line.get("isSidechain") is True and not own.endswith(f"/{plain_text(line.get('agentId'))}")
    return parent or (_ASIDE if is_aside else "")


def _caller(session: Session, nested: str) -> str | None:
    call = session.called(nested)
    return call.id if call else None


def _agent_of(session: Session, nested: str) -> str | None:
    if not nested:
        return None
    call = session.called(nested)
    named = plain_text(obj(call.arguments).get("subagent_type")) if call else ""
    return named or "sub-agent"


def _result(session: Session, line: Json) -> None:
    session.end()
    session.cost = number(line.get("total_cost_usd"))
    session.ended = plain_text(line.get("stop_reason")) or plain_text(line.get("subtype")) or session.ended
    result = line.get("result")
    if isinstance(result, str):
        session.say(result)
    if line.get("is_error") is True:
        session.failure = result if isinstance(result, str) and result else plain_text(line.get("subtype")) or "error"
        session.answer = ""
    by_model = obj(line.get("modelUsage"))
    if by_model:
        _by_model(session, by_model)
    elif usage := obj(line.get("usage")):
        _add(session.use(None), usage)


def _cost_state(session: Session, line: Json) -> None:
    """Take the program's own sum; it writes one again whenever the session goes on, and the last one counts."""
    session.cost = number(line.get("totalCostUSD"))
    _by_model(session, obj(line.get("modelUsage")))


def _by_model(session: Session, by_model: Json) -> None:
    session.models.clear()
    session.is_summed = True
    for model, usage in by_model.items():
        used = obj(usage)
        session.use(model).add(
            used.get("inputTokens"), used.get("cacheReadInputTokens"), used.get("cacheCreationInputTokens"),
            used.get("outputTokens"),
        )  # fmt: skip


def _add(tokens: Tokens, usage: Json) -> None:
    tokens.add(
        usage.get("input_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("cache_creation_input_tokens"),
        usage.get("output_tokens"),
    )
