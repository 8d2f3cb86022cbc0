"""Judgment requests to people and notifications of integrations: rows of the outbox, in the transaction that causes them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, cast

from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.neighbours import AgentMessage, ContextRef, MemoryItem, Task
from minions_evals_mcp.domain.records import Record, title_of
from minions_evals_mcp.domain.values import ID_PATTERN, to_millis
from minions_evals_mcp.engine.run_verdict import run_verdict
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.agent.inbox import Arriving, Message
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append, tell

EVAL_AGENT = "minions-evals"
PEOPLE = "people"
ORCHESTRATOR = "orchestrator"
TASKS = "tasks"
MEMORY = "memory"
UNREADABLE = "unreadable"
"""The type of a dead letter whose text was no message."""
SHOWN = 2000
OF_MESSAGE = "message:"
"""How the key of a job begins that a message asked for; the message's id follows."""


def task(
    title: str, description: str, *, priority: Literal["critical", "high"], about: str, owner: str | None, at: datetime
) -> Task:
    """Work that is asked for, about a benchmark-run, of the benchmark's owner where one is named by an id."""
    return Task(
        assignee_id=owner if owner is not None and re.fullmatch(ID_PATTERN, owner) else None,
        title=title,
        description=description,
        priority=priority,
        created_by=EVAL_AGENT,
        created_at=at,
        context_ref=ContextRef(type="benchmark-run", id=about),
    )


def message(kind: str, payload: Json, *, at: datetime) -> AgentMessage:
    """A message to the orchestrator."""
    return AgentMessage(from_agent_id=EVAL_AGENT, to_agent_id=ORCHESTRATOR, type=kind, payload=payload, sent_at=at)


def queue(db: Db, ident: str, fields: Task | AgentMessage | MemoryItem, *, key: str, at: datetime) -> None:
    """Asks for a task or a memory-item, or tells an agent; once under its key."""
    if tell(db, Record(ident, fields, title_of(fields, ident), at, at), key=key, addressee=_addressee(fields)):
        append(db, Event("queued", fields.slug, ident, {"key": key}), at=at)


def reply(db: Db, message: Message, wire: Json, *, ended: Literal["complete", "failed"], at: datetime) -> None:
    """Queues for the sender how its message ended, in the transaction of that end; once for each end that it comes to."""
    if message.sender is None:
        return
    payload: Json = {"messageId": message.id, "type": message.type, **wire}
    answer = AgentMessage(
        from_agent_id=EVAL_AGENT,
        to_agent_id=message.sender,
        type=f"{message.type}-{ended}",
        payload=payload,
        sent_at=at,
    )
    key = f"reply:{text_digest(f'{message.id} {ended} {to_millis(at)}')}"
    queue(db, key, answer, key=key, at=at)


def keep_unreadable(db: Db, text: str, reason: str, *, source: str, at: datetime) -> str:
    """Lays what was no message with the dead letters, once, tells its sender where one is named, and returns its id."""
    ident = f"{source}:{text_digest(text)}"
    arriving = Arriving(ident, UNREADABLE, ident, None, {"text": text[:SHOWN]})
    if inbox.put(db, arriving, at=at, dead=reason):
        refuse(db, text, reason, at=at)
    return ident


def refuse(db: Db, text: str, reason: str, *, at: datetime) -> None:
    """Queues the reason for the sender of what was no message, where the text names one; once for that text and reason."""
    sender, own_id, kind = _letterhead(text)
    if sender is None:
        return
    answer = AgentMessage(
        from_agent_id=EVAL_AGENT,
        to_agent_id=sender,
        type=f"{kind}-failed",
        payload={"messageId": own_id, "type": kind, "reason": reason},
        sent_at=at,
    )
    key = f"reply:{text_digest(f'{text} {reason}')}"
    queue(db, key, answer, key=key, at=at)


def _letterhead(text: str) -> tuple[str | None, str | None, str]:
    """Sender, id and type of what may be no message, as far as they can be read."""
    try:
        wire = from_json(text)
    except ValueError:
        wire = None
    head = cast("Json", wire) if isinstance(wire, dict) else {}
    sender, ident, kind = (
        value if isinstance(value, str) and re.fullmatch(ID_PATTERN, value) else None
        for value in (head.get("fromAgentId"), head.get("id"), head.get("type"))
    )
    return sender, ident, kind or "message"


def tell_asker(db: Db, job_id: str, *, at: datetime) -> None:
    """Tells whoever asked for the job by a message that it has ended, where all that they were told was that it waits for people."""
    job = jobs.job(db, job_id)
    if job is None or not job.key.startswith(OF_MESSAGE):
        return
    question = inbox.message(db, job.key.removeprefix(OF_MESSAGE))
    if (
        question is not None
        and question.state == "done"
        and (question.result or {}).get("state") == "awaiting-judgments"
    ):
        reply(
            db,
            question,
            {"result": run_verdict(db, job)},
            ended="complete" if job.state == "completed" else "failed",
            at=at,
        )


def _addressee(fields: Task | AgentMessage | MemoryItem) -> str:
    match fields:
        case Task():
            return TASKS
        case AgentMessage():
            return fields.to_agent_id
        case MemoryItem():
            return MEMORY
