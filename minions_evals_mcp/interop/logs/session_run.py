"""The agent-run that a session of a coding agent is imported as."""

from __future__ import annotations

import re

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import NO_FINAL_ANSWER, NOT_RECORDED
from minions_evals_mcp.interop.logs.records import moment, slug
from minions_evals_mcp.interop.logs.sample import EvaluationLog
from minions_evals_mcp.models.session_cost import session_cost
from minions_evals_mcp.sessions.conversation import finite
from minions_evals_mcp.sessions.leaked_secrets import without_secrets
from minions_evals_mcp.sessions.session import Session, SessionCall

_CORRECTION = re.compile(
    r"^\W*(?:no|nope|not (?:that|this|what|like)|wrong|stop|wait|undo|revert|instead|that(?:'s| is| was)(?: not|n't| wrong)"
    r"|you (?:missed|forgot|broke)|(?:it|this|that) (?:still )?(?:doesn't|does not|didn't|did not) |still (?:fails|broken|wrong)"
    r"|don't|do not|i (?:said|asked|meant))\b",
    re.IGNORECASE,
)
"""How a message of the user begins that takes back or corrects what the agent did."""


def session_log(session: Session, form: str) -> EvaluationLog:
    """The log of all sessions of this program's version and model: together they are one version to compare."""
    subject = " ".join(filter(None, (session.host, session.version, session.model)))
    tried = slug("/".join(filter(None, (session.version, session.model))) or "unknown", 40)
    return EvaluationLog(form, tried, session.host, subject, known_samples=True)


def session_run(session: Session, form: str, *, holds_texts: bool = True) -> Json:
    """The agent-run on the wire: the first thing asked, the last thing answered, every call, tokens and cost; no secret.

    `holds_texts`: what the session was read from holds every answer; telemetry may not.
    """
    first = session.prompts[0][1] if session.prompts else None
    is_unfinished = session.is_unfinished
    fields: Json = {
        "agentId": session.host,
        "triggeredAt": moment(session.started),
        "completedAt": None if is_unfinished else moment(session.completed),
        "inputs": {} if first is None else {"input": first},
        "outputs": {"output": session.answer} if session.answer and not is_unfinished else {},
        "toolCallsLog": [_step(call) for call in session.calls.values()],
        "tokensUsed": sum(tokens.total for tokens in session.models.values()) or None,
        "cost": session_cost(session),
        "status": "failed" if session.failure else "running" if is_unfinished else "success",
        "errorMessage": session.failure,
        "group": session.talk or None,
        "stopReason": NO_FINAL_ANSWER if is_unfinished else _stop_reason(session, holds_texts=holds_texts),
        "extra": finite(_beside(session, form)),
    }
    return {
        "id": f"log:{form}/{slug(session.id, 80)}",
        "type": "agent-run",
        "fields": without_secrets({key: value for key, value in fields.items() if value is not None}),
    }


def _stop_reason(session: Session, *, holds_texts: bool) -> str | None:
    if session.answer or session.failure:
        return session.ended or None
    return session.ended or "no answer" if holds_texts else NOT_RECORDED


def _step(call: SessionCall) -> Json:
    """The call as a step of a log."""
    step: Json = {**call.step(), "startedAt": moment(call.started)}
    return {key: value for key, value in step.items() if value is not None}


def _beside(session: Session, form: str) -> Json:
    """What the session says beside the fields: its later turns and signals, edits, tokens by model."""
    later: list[JsonValue] = [
        {"afterStep": step, "text": text, "correction": _CORRECTION.match(text) is not None}
        for step, text in session.prompts[1:]
    ]
    beside: Json = {
        "log": {
            "format": form, "session": session.id, "version": session.version or None, "folder": session.folder or None,
        },
        "userTurns": later,
        "saidSoFar": [session.answer] if session.answer and session.is_unfinished else [],
        "interruptedAfterSteps": [*session.interruptions],
        "edits": [{"tool": edit.tool, "path": edit.path, "step": edit.step} for edit in session.edits],
        "usage": {
            model or "unknown": {
                "inputTokens": tokens.fresh, "cacheReadTokens": tokens.cached,
                "cacheWriteTokens": tokens.stored, "outputTokens": tokens.written,
            }
            for model, tokens in session.models.items()
        },
    }  # fmt: skip
    return {key: value for key, value in beside.items() if value not in ([], {})}
