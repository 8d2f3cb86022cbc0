"""What is asked of people and told to neighbours: rows of the outbox, in the transaction that causes them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import AgentMessage, ApprovalRequest, ContextRef, MemoryItem, Task
from minions_evals_mcp.domain.outcomes import Awaiting, UnitKey
from minions_evals_mcp.domain.records import Record, title_of
from minions_evals_mcp.engine.measures import ByNothing, Measure
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append, tell

EVAL_AGENT = "minions-evals"
PEOPLE = "people"
ORCHESTRATOR = "orchestrator"
TASKS = "tasks"
MEMORY = "memory"


def request_approval(db: Db, key: UnitKey, measure: Measure, ended: Awaiting, *, new_id: str, at: datetime) -> None:
    """Queues a request that a person judges the output; once for each packet."""
    nothing = isinstance(measure.yardstick, ByNothing)
    fields = ApprovalRequest(
        title=f"{'Accept as baseline' if nothing else 'Judge'}: {measure.case.title}"[:200],
        description="There is no rubric, assertion or expected output: accept this output as the baseline, or write a rubric."
        if nothing
        else "Score every criterion and say why; answer with submit_judgments.",
        requested_by=EVAL_AGENT,
        requested_at=at,
        context_ref_type="run",
        context_ref_id=key.job_id,
        payload={"runId": key.job_id, "packet": ended.packet},
    )
    record = Record(new_id, fields, fields.title, at, at)
    if tell(db, record, key=f"approval:{key.run_id}:{ended.packet_digest}", addressee=PEOPLE):
        append(
            db,
            Event(
                "approval-requested", "approval-request", new_id, {"runId": key.job_id, "testCaseId": measure.case.id}
            ),
            at=at,
        )


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
