"""A dead letter or a refused delivery is given another chance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agent.letters import meant_letter
from minions_evals_mcp.engine.jobs import LATEST
from minions_evals_mcp.errors import ConflictError, NotFoundError
from minions_evals_mcp.messages.send_message import UNREADABLE
from minions_evals_mcp.store.agent import delivery, inbox
from minions_evals_mcp.store.connection import Db


@dataclass(frozen=True, slots=True)
class Revived:
    """The work that is pending again: a `message` or a `delivery`."""

    id: str
    what: str


def retry(db: Db, reference: str, *, at: datetime) -> Revived:
    """Makes it pending again; raises `NotFoundError`, or `ConflictError` for what did not fail.

    An id by its beginning will do, and `latest`: the newest dead letter, else the newest refused delivery.
    """
    ident = _newest_failed(db) if reference == LATEST else meant_letter(db, reference)
    message = inbox.message(db, ident)
    if message is None:
        return _delivery(db, ident, at=at)
    if message.state != "dead":
        raise ConflictError(
            f"the message {ident} is {message.state}, not dead.", remedy="Only dead letters can be retried."
        )
    if message.type == UNREADABLE:
        raise ConflictError(f"{ident} is not a message.", remedy="Correct its text and send it again.")
    inbox.revive(db, ident, at=at)
    return Revived(ident, "message")


def _delivery(db: Db, ident: str, *, at: datetime) -> Revived:
    row = delivery.delivery(db, ident)
    if row is None:
        raise NotFoundError("dead letter or refused delivery", ident, remedy="`minions-eval-agent status` shows them.")
    if not delivery.revive(db, ident, at=at):
        raise ConflictError(
            f"the delivery {ident} is {row.state}, not refused.", remedy="Only refused deliveries can be retried."
        )
    return Revived(ident, "delivery")


def _newest_failed(db: Db) -> str:
    for failed in (inbox.dead_letters(db, limit=1, besides=UNREADABLE), delivery.refused(db, limit=1)):
        if failed:
            return failed[0].id
    raise ConflictError(
        "no dead letter or refused delivery to retry.",
        remedy="`minions-eval-agent status` shows the waiting outputs.",
    )
