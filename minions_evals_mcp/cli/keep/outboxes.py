"""The outbox: what is told to other agents and people, and whether it was taken."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.cli.session import DEFAULTS, Common, Cursor, Limit, reply, session
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import AgentMessage
from minions_evals_mcp.domain.records import wire_fields
from minions_evals_mcp.domain.values import minute
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.store.agent import delivery
from minions_evals_mcp.store.agent.delivery import Delivery

SUBJECTS = ("benchmarkId", "testCaseId", "promptVersionRef", "messageId", "benchmarkRunId")
"""Where a message to an agent says what it is of."""


async def outbox(*, limit: Limit = 50, after: Cursor = 0, common: Common = DEFAULTS) -> int:
    """Show notifications to agents and people, oldest first: tasks, messages, approval-requests.

    Example: minions-evals outbox --json

    Parameters
    ----------
    limit
        Maximum number shown.
    after
        Continue after this cursor.
    """
    async with session(common) as engine:
        page = await engine.store.read(partial(delivery.told_after, after=after, limit=limit + 1))
    shown, more = page[:limit], len(page) > limit
    cursor = shown[-1].told.seq if more else None
    lines = [*map(_told_line, shown)]
    if cursor is not None:
        lines.append(f"more: --after {cursor} (newer)")
    return reply(
        common, {"outbox": [sent.wire() for sent in shown], "nextCursor": cursor}, lines or ["nothing is queued"]
    )


def _told_line(sent: Delivery) -> str:
    """When it was queued, whether it was taken, what it is, for whom, and of what."""
    record = sent.told.record
    state = "waiting" if sent.state == "pending" else sent.state
    fields = wire_fields(record.fields)
    what = str(fields["type"]) if record.type == AgentMessage.slug else record.title.removeprefix(f"{record.type} ")
    return (
        f"{minute(record.created_at)}  {state:<9}  {record.type} to {sent.told.addressee}:"
        f" {printable(what, 80)}{printable(_about(fields), 130)}"
    )


def _about(fields: Json) -> str:
    """What a row of the outbox is of, as it names it itself; empty where it names nothing."""
    payload, context = fields.get("payload"), fields.get("contextRef")
    named = (
        *((payload.get(name) for name in SUBJECTS) if isinstance(payload, dict) else ()),
        context.get("id") if isinstance(context, dict) else None,
        fields.get("contextRefId"),
    )
    subject = next((name for name in named if isinstance(name, str) and name), "")
    return f" ({subject})" if subject else ""
