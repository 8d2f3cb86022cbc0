"""A dead letter or a refused delivery is given another chance."""

from __future__ import annotations

from datetime import datetime

from minions_evals_mcp.engine.messages.send_message import UNREADABLE
from minions_evals_mcp.errors import ConflictError, NotFoundError
from minions_evals_mcp.store.agent import delivery, inbox
from minions_evals_mcp.store.connection import Db


def retry(db: Db, ident: str, *, at: datetime) -> str:
    """Makes it pending again, and says what it is; raises `NotFoundError`, or `ConflictError` for what did not fail."""
    found = inbox.message(db, ident)
    if found is None:
        if delivery.revive(db, ident, at=at):
            return "delivery"
        raise NotFoundError("dead letter", ident, remedy="`minions-eval-agent status` shows them.")
    if found.state != "dead":
        raise ConflictError(f"the message {ident} is {found.state}, not dead.", remedy="Only dead letters are retried.")
    if found.type == UNREADABLE:
        raise ConflictError(f"{ident} is no message.", remedy="Correct its text and send it again.")
    inbox.revive(db, ident, at=at)
    return "message"
