"""A dead letter or a refused delivery is dismissed: with a reason, and listed no more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agent.letters import meant_letter
from minions_evals_mcp.errors import BadInputError, ConflictError, NotFoundError
from minions_evals_mcp.store.agent import delivery, inbox
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append


@dataclass(frozen=True, slots=True)
class Dismissed:
    """What needs nothing more: a `message` or a `delivery`."""

    id: str
    what: str


def dismiss(db: Db, reference: str, *, reason: str, by: str, at: datetime) -> Dismissed:
    """Dismisses it; an id by its beginning will do. Raises `NotFoundError`, or `ConflictError` for what did not fail."""
    if not reason.strip():
        raise BadInputError("--reason is empty.", remedy="Say why nothing more is to be done.")
    ident = meant_letter(db, reference)
    message = inbox.message(db, ident)
    row = None if message is not None else delivery.delivery(db, ident)
    if message is None and row is None:
        raise NotFoundError("dead letter or refused delivery", ident, remedy="`minions-eval-agent status` shows them.")
    what = "message" if message is not None else "delivery"
    done = (inbox if message is not None else delivery).dismiss(db, ident, reason)
    if not done:
        state = message.state if message is not None else row.state if row is not None else ""
        raise ConflictError(
            f"the {what} {ident} is {state}.", remedy="Only a dead letter or a refused delivery can be dismissed."
        )
    append(db, Event("dismissed", what, ident, {"reason": reason, "by": by}), at=at)
    return Dismissed(ident, what)
