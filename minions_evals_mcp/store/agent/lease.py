"""The lease of the one who works on the store as its agent, until when; and how far the agent has read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.errors import BusyError
from minions_evals_mcp.store.connection import Db

CursorName = Literal["events", "schedules"]


@dataclass(frozen=True, slots=True)
class AgentLease:
    """The right to work on a store as its agent."""

    holder: str
    host: str
    expires_at: datetime


def lease(db: Db) -> AgentLease | None:
    """The lease as it stands, expired or not."""
    row = db.execute("SELECT holder, host, expires_at FROM lease WHERE name = 'agent'").fetchone()
    return None if row is None else AgentLease(row[0], row[1], from_millis(row[2]))


def take(db: Db, wanted: AgentLease, *, at: datetime, instead_of: str | None = None) -> AgentLease | None:
    """Takes the lease, or returns the one that stands; `instead_of` names a holder that is known to be dead."""
    standing_lease = lease(db)
    if (
        standing_lease is not None
        and standing_lease.expires_at > at
        and standing_lease.holder not in {wanted.holder, instead_of}
    ):
        return standing_lease
    db.execute("DELETE FROM lease WHERE name = 'agent'")
    db.execute(
        "INSERT INTO lease (name, holder, host, taken_at, expires_at) VALUES ('agent', ?, ?, ?, ?)",
        (wanted.holder, wanted.host, to_millis(at), to_millis(wanted.expires_at)),
    )
    return None


def renew(db: Db, holder: str, *, until: datetime) -> None:
    """Holds the lease on; raises `BusyError` where another agent has taken it."""
    require(db, holder)
    db.execute(
        "UPDATE lease SET expires_at = max(expires_at, ?) WHERE name = 'agent' AND holder = ?",
        (to_millis(until), holder),
    )


def require(db: Db, holder: str) -> None:
    """Raises `BusyError` unless that agent holds the lease: what it would write now another may be writing too."""
    standing_lease = lease(db)
    if standing_lease is None or standing_lease.holder != holder:
        raise BusyError(
            f"the lease is held by {standing_lease.holder if standing_lease else 'nobody'}, not by {holder}.",
            remedy="Another agent took over because this one did not respond. Let this one end.",
        )


def release(db: Db, holder: str) -> None:
    """Gives the lease back."""
    db.execute("DELETE FROM lease WHERE name = 'agent' AND holder = ?", (holder,))


def position(db: Db, name: CursorName) -> int:
    """Returns how far the agent has read; 0 at the beginning."""
    row = db.execute("SELECT position FROM agent_cursor WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else row[0]


def advance(db: Db, name: CursorName, to: int) -> None:
    """Reads on up to there; never back."""
    changed = db.execute("UPDATE agent_cursor SET position = max(position, ?) WHERE name = ?", (to, name))
    if changed.rowcount == 0:
        db.execute("INSERT INTO agent_cursor (name, position) VALUES (?, ?)", (name, to))
