"""Whose each waiting output is: assigned to a person, or held for a while by the one to whom it was shown."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.waiting_outputs import Place

HELD = timedelta(minutes=15)
"""So long an output is nobody else's after it was shown to a person."""


def whose(db: Db, place: Place, *, at: datetime) -> str | None:
    """The person whose output that is at that time."""
    row = db.execute(
        "SELECT person FROM assignment WHERE job_id = ? AND packet = ? AND (until IS NULL OR until > ?)",
        (*place, to_millis(at)),
    ).fetchone()
    return None if row is None else row[0]


def assigned_to(db: Db, place: Place) -> str | None:
    """The person to whom that output is assigned; a hold is none."""
    sought = "SELECT person FROM assignment WHERE job_id = ? AND packet = ? AND until IS NULL"
    row = db.execute(sought, place).fetchone()
    return None if row is None else row[0]


def own(db: Db, person: str, *, run_id: str | None = None) -> list[Place]:
    """The waiting outputs that are assigned to the person, of that run or of all, by their digests."""
    rows = db.execute(
        "SELECT u.job_id, u.packet FROM assignment a JOIN unit u ON u.job_id = a.job_id AND u.packet = a.packet"
        " WHERE a.person = ?1 AND a.until IS NULL AND u.outcome = 'awaiting-judgments' AND (?2 IS NULL OR u.job_id = ?2)"
        " ORDER BY u.packet",
        (person, run_id),
    )
    return rows.fetchall()


def was_assigned(db: Db, person: str, packet: str) -> bool:
    """Whether that output was assigned to the person, judged or not."""
    sought = "SELECT 1 FROM assignment WHERE packet = ? AND person = ? AND until IS NULL"
    return db.execute(sought, (packet, person)).fetchone() is not None


def shares(db: Db, run_id: str) -> dict[str | None, int]:
    """How many waiting outputs of the run are assigned to each person; under None, how many are anybody's."""
    rows = db.execute(
        "SELECT a.person, count(*) FROM unit u LEFT JOIN assignment a ON a.job_id = u.job_id AND a.packet = u.packet"
        " AND a.until IS NULL WHERE u.job_id = ? AND u.packet IS NOT NULL AND u.outcome = 'awaiting-judgments' GROUP BY 1",
        (run_id,),
    )
    return dict(rows.fetchall())


def hold(db: Db, place: Place, person: str, *, at: datetime) -> bool:
    """Holds the output for that person; False where it is somebody else's."""
    owner = whose(db, place, at=at)
    if owner not in {None, person}:
        return False
    db.execute(
        "INSERT INTO assignment (job_id, packet, person, until, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (job_id, packet) DO UPDATE"
        " SET person = excluded.person, until = excluded.until, at = excluded.at WHERE until IS NOT NULL",
        (*place, person, to_millis(at + HELD), to_millis(at)),
    )
    return True


def assign(db: Db, places: Iterable[tuple[Place, str]], *, at: datetime) -> None:
    """Assigns each output to a person until it is taken back, whosever it was."""
    db.executemany(
        "INSERT OR REPLACE INTO assignment (job_id, packet, person, until, at) VALUES (?, ?, ?, NULL, ?)",
        [(*place, person, to_millis(at)) for place, person in places],
    )


def take_back(db: Db, job_id: str) -> int:
    """Ends what was assigned of that run and still waits; returns how many outputs."""
    return db.execute(
        "DELETE FROM assignment WHERE job_id = ?1 AND packet IN"
        " (SELECT packet FROM unit WHERE job_id = ?1 AND outcome = 'awaiting-judgments' AND packet IS NOT NULL)",
        (job_id,),
    ).rowcount
