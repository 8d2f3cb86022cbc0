"""What is asked of people and told to neighbours: rows of the outbox, in the transaction that causes them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import AgentMessage, ContextRef, MemoryItem, Task
from minions_evals_mcp.domain.records import Record, title_of
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append, tell

EVAL_AGENT = "minions-evals"
PEOPLE = "people"
ORCHESTRATOR = "orchestrator"
TASKS = "tasks"
MEMORY = "memory"


def task(title: str, description: str, *, priority: Literal["critical", "high"], about: str, at: datetime) -> Task:
    """Work that is asked for, about a benchmark-run."""
    return Task(
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


def _addressee(fields: Task | AgentMessage | MemoryItem) -> str:
    match fields:
        case Task():
            return TASKS
        case AgentMessage():
            return fields.to_agent_id
        case MemoryItem():
            return MEMORY
