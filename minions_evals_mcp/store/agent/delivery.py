"""The delivery of each row of the outbox to its addressee."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store import events
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import OutboxRow


@dataclass(frozen=True, slots=True)
class WaitingDeliveries:
    """The number of rows that wait for an addressee, and how often the first of them has failed, and why."""

    addressee: str
    rows: int
    attempts: int
    reason: str

    def wire(self) -> dict[str, JsonValue]:
        """The same as it stands in an answer."""
        return {"addressee": self.addressee, "rows": self.rows, "attempts": self.attempts, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class RefusedDelivery:
    """A row that its addressee refuses for good, and why."""

    id: str
    type: str
    addressee: str
    reason: str

    def wire(self) -> dict[str, JsonValue]:
        """The same as it stands in an answer."""
        return {"id": self.id, "type": self.type, "addressee": self.addressee, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Delivery:
    """A row of the outbox, and how far it is: how often it failed, and why the last time."""

    told: OutboxRow
    state: str
    attempts: int
    reason: str

    def wire(self) -> dict[str, JsonValue]:
        """The row as it stands in an answer."""
        return {**self.told.wire(), "state": self.state, "attempts": self.attempts, "reason": self.reason}


def delivery(db: Db, ident: str) -> Delivery | None:
    """The row of the outbox under that id, and how far it is."""
    return next((_delivery(db, letter) for letter in events.outbox(db, ident=ident, limit=1)), None)


def told_after(db: Db, *, after: int, limit: int) -> list[Delivery]:
    """A page of the outbox, oldest first, and how far each row is."""
    return [_delivery(db, letter) for letter in events.outbox(db, after=after, limit=limit)]


def told_of(db: Db, message_id: str, run_id: str | None) -> list[Delivery]:
    """Returns what was told because of a message: to its sender, and of the run that it started, oldest first."""
    about = " OR ".join(
        f"json_extract(fields, '$.{path}') = :run"
        for path in ("contextRef.id", "contextRefId", "payload.benchmarkRunId")
    )
    seqs = db.execute(
        f"SELECT seq FROM outbox WHERE json_extract(fields, '$.payload.messageId') = :message OR {about} ORDER BY seq",
        {"message": message_id, "run": run_id},
    ).fetchall()
    return [_delivery(db, letter) for (seq,) in seqs for letter in events.outbox(db, after=seq - 1, limit=1)]


def _delivery(db: Db, letter: OutboxRow) -> Delivery:
    row = db.execute("SELECT state, attempts, reason FROM delivery WHERE seq = ?", (letter.seq,)).fetchone()
    return Delivery(letter, *row)


def addressees(db: Db) -> list[str]:
    """Everybody for whom a row waits."""
    return [row[0] for row in db.execute("SELECT DISTINCT addressee FROM delivery WHERE state = 'pending'")]


def waiting_for(db: Db, addressee: str, *, limit: int) -> list[OutboxRow]:
    """The rows that wait for that addressee, in their order."""
    seqs = db.execute(
        "SELECT seq FROM delivery WHERE addressee = ? AND state = 'pending' ORDER BY seq LIMIT ?", (addressee, limit)
    ).fetchall()
    return [letter for (seq,) in seqs for letter in events.outbox(db, after=seq - 1, limit=1)]


def attempts(db: Db, seq: int) -> int:
    """Returns how often that row failed so far."""
    return db.execute("SELECT attempts FROM delivery WHERE seq = ?", (seq,)).fetchone()[0]


def deliver(db: Db, seq: int, *, at: datetime) -> None:
    """Marks the row as delivered."""
    db.execute(
        "UPDATE delivery SET state = 'delivered', reason = '', settled_at = ? WHERE seq = ? AND state <> 'delivered'",
        (to_millis(at), seq),
    )


def put_off(db: Db, seq: int, reason: str, *, until: datetime) -> None:
    """Counts a failure; the row is tried again at that moment."""
    db.execute(
        "UPDATE delivery SET attempts = attempts + 1, reason = ?, next_at = ? WHERE seq = ?",
        (masked(reason), to_millis(until), seq),
    )


def refuse(db: Db, seq: int, reason: str, *, at: datetime) -> None:
    """Marks the row as refused by its addressee, so that the next may go."""
    db.execute(
        "UPDATE delivery SET state = 'refused', attempts = attempts + 1, reason = ?, settled_at = ? WHERE seq = ?",
        (masked(reason), to_millis(at), seq),
    )


def revive(db: Db, ident: str, *, at: datetime) -> bool:
    """Makes a refused row wait again; false where the outbox's row of that id is not refused."""
    changed = db.execute(
        "UPDATE delivery SET state = 'pending', attempts = 0, next_at = ?, settled_at = NULL, dismissed = ''"
        " WHERE state = 'refused' AND seq = (SELECT seq FROM outbox WHERE id = ?)",
        (to_millis(at), ident),
    )
    return changed.rowcount > 0


def dismiss(db: Db, ident: str, reason: str) -> bool:
    """Keeps why the refused row needs nothing more; false where the outbox's row of that id is not refused."""
    changes = (
        "UPDATE delivery SET dismissed = ? WHERE state = 'refused' AND seq = (SELECT seq FROM outbox WHERE id = ?)"
    )
    return db.execute(changes, (masked(reason), ident)).rowcount > 0


def queue(db: Db) -> list[WaitingDeliveries]:
    """Returns what waits, for each addressee."""
    rows = db.execute(
        "SELECT w.addressee, w.number, d.attempts, d.reason FROM (SELECT addressee, count(*) AS number, min(seq) AS seq"
        " FROM delivery WHERE state = 'pending' GROUP BY addressee) w JOIN delivery d USING (seq) ORDER BY w.addressee"
    )
    return [WaitingDeliveries(*row) for row in rows]


def refused(db: Db, *, limit: int) -> list[RefusedDelivery]:
    """The newest refused rows first that nobody dismissed."""
    rows = db.execute(
        "SELECT o.id, o.type, o.addressee, d.reason FROM delivery d JOIN outbox o USING (seq) WHERE d.state = 'refused'"
        " AND d.dismissed = ''"
        " ORDER BY d.seq DESC LIMIT ?",
        (limit,),
    )
    return [RefusedDelivery(*row) for row in rows]
