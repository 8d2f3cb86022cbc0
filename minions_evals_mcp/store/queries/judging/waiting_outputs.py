"""The outputs that wait to be judged, over all runs."""

from __future__ import annotations

import json

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.talks import USER_ASKED

Place = tuple[str, str]
"""A waiting output: its run and its packet."""


def waiting(db: Db, *, run_id: str | None = None, after: str = "", limit: int) -> list[Place]:
    """The packets that wait, by their digests: runs and versions come mixed, and the order is the same at every look."""
    rows = db.execute(
        "SELECT job_id, packet FROM unit WHERE packet > ? AND outcome = 'awaiting-judgments' AND (? IS NULL OR job_id = ?)"
        " ORDER BY packet LIMIT ?",
        (after, run_id, run_id, limit),
    )
    return rows.fetchall()


def count_waiting(db: Db, *, run_id: str | None = None) -> int:
    """Returns how many outputs wait, for whomever."""
    row = db.execute(
        "SELECT count(*) FROM unit WHERE packet IS NOT NULL AND outcome = 'awaiting-judgments' AND (? IS NULL OR job_id = ?)",
        (run_id, run_id),
    ).fetchone()
    return row[0]


def count_waiting_users(db: Db) -> int:
    """The number of conversations that wait for their user's next message."""
    return db.execute(
        "SELECT count(*) FROM unit WHERE packet IS NOT NULL AND outcome = 'awaiting-judgments'"
        " AND reason IN (SELECT value FROM json_each(?))",
        (json.dumps([*USER_ASKED.values()]),),
    ).fetchone()[0]


def units_of_waiting(db: Db, *, run_id: str | None = None) -> int:
    """Returns how many outputs the runs have in which some wait."""
    row = db.execute(
        "SELECT coalesce(sum(total), 0) FROM job WHERE id IN (SELECT job_id FROM unit WHERE packet IS NOT NULL"
        " AND outcome = 'awaiting-judgments' AND (? IS NULL OR job_id = ?))",
        (run_id, run_id),
    ).fetchone()
    return row[0]
