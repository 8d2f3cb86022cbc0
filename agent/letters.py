"""One message or delivery, whole: what was asked, how far it is and why, what came of it, and what was told."""

from __future__ import annotations

import json

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.jobs import LATEST
from minions_evals_mcp.engine.meant_ids import id_begun
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.messages.payloads import OWN
from minions_evals_mcp.messages.send_message import UNREADABLE
from minions_evals_mcp.presentation.next_steps import to_operator
from minions_evals_mcp.report.plain import revealed
from minions_evals_mcp.store.agent import delivery, inbox
from minions_evals_mcp.store.agent.delivery import Delivery
from minions_evals_mcp.store.agent.inbox import Message
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import OUTBOX_TYPES

KINDS = ("message", *OUTBOX_TYPES)
WHAT = "message or delivery"
SHOW = "`minions-eval-agent status` shows the queue, `minions-evals outbox` the notifications."


def meant_letter(db: Db, reference: str) -> str:
    """The id that was meant: written out, by its beginning, or `latest`, the newest message that somebody sent."""
    if reference == LATEST:
        newest = inbox.newest_sent(db, besides=OWN)
        if newest is None:
            raise NotFoundError(
                "message", reference, remedy="None has been sent yet: `minions-eval-agent send --help`."
            )
        return newest
    stands = inbox.message(db, reference) is not None or delivery.delivery(db, reference) is not None
    return reference if stands else id_begun(db, reference, *KINDS)


def show(db: Db, reference: str) -> Json:
    """The message or delivery under that id; raises `NotFoundError`, or `BadInputError` where it begins several."""
    ident = meant_letter(db, reference)
    message = inbox.message(db, ident)
    if message is not None:
        return _message(message, delivery.told_of(db, ident, _run_of(message)))
    row = delivery.delivery(db, ident)
    if row is None:
        raise NotFoundError(WHAT, reference, remedy=SHOW)
    return {**row.wire(), "type": row.told.record.type}


def _message(message: Message, letters: list[Delivery]) -> Json:
    waits: Json = {"nextAt": iso(message.next_at)} if message.state == "pending" and message.attempts else {}
    return {**message.wire(), **waits, "payload": message.payload, "told": [sent_row.wire() for sent_row in letters]}


def _run_of(message: Message) -> str | None:
    run = (message.result or {}).get("runId")
    return run if isinstance(run, str) else None


def in_words(shown: Json) -> str:
    """The same for a person: how it ended first, then why, what was asked, and what came of it."""
    is_message = "payload" in shown
    lines = [*(_of_message if is_message else _of_delivery)(shown)]
    return "\n".join(lines) + "\n"


def _of_message(shown: Json) -> list[str]:
    sender = f" from {shown['sender']}" if shown["sender"] else ""
    head = f"message {shown['id']} ({shown['type']}){sender}, sent {shown['sentAt']}: {shown['state']}"
    rows = shown["told"]
    assert isinstance(rows, list)
    return [
        *_headed(head, shown),
        *([f"next try: {shown['nextAt']}"] if "nextAt" in shown else []),
        *_block("asked", shown["payload"]),
        *(_block("result", shown["result"]) if shown["result"] is not None else []),
        *(f"notified {_way(row)}" for row in rows if isinstance(row, dict)),
        *_next(shown),
    ]


def _of_delivery(shown: Json) -> list[str]:
    head = f"{shown['type']} {shown['id']} to {shown['addressee']}, queued {shown['createdAt']}: {shown['state']}"
    again = [f"after the fix: minions-eval-agent retry {shown['id']}"] if shown["state"] == "refused" else []
    return [*_headed(head, shown), f"key: {shown['key']}", *_block("says", shown["fields"]), *again]


def _headed(head: str, shown: Json) -> list[str]:
    attempts = shown["attempts"]
    failed = f" after {attempts} failed {'try' if attempts == 1 else 'tries'}" if attempts else ""
    return [
        f"{revealed(head)}{failed}",
        *([f"why: {revealed(to_operator(str(shown['reason'])))}"] if shown["reason"] else []),
    ]


def _block(name: str, value: JsonValue) -> list[str]:
    return [
        f"{name}:",
        *(f"  {line}" for line in revealed(json.dumps(value, indent=2, ensure_ascii=False)).split("\n")),
    ]


def _way(row: Json) -> str:
    fields = row["fields"]
    assert isinstance(fields, dict)
    title = fields.get("title") if row["type"] == "task" else fields.get("type", row["type"])
    why = f" ({row['reason']})" if row["reason"] else ""
    return revealed(f"{row['addressee']}: {title}: {row['state']}{why}  {row['id']}")


def _next(shown: Json) -> list[str]:
    run = shown["result"].get("runId") if isinstance(shown["result"], dict) else None
    if shown["state"] == "dead":
        again = f"after the fix: minions-eval-agent retry {shown['id']}"
        return ["correct its text and send it again" if shown["type"] == UNREADABLE else again]
    return [f"the run: minions-evals runs {run}"] if run else []
