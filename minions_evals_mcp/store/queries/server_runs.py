"""Runs that a server was asked for: which of them it could not end, and under which cap they go on."""

from __future__ import annotations

import json
from datetime import datetime

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.jobs import Job, job

ASKED = "run-asked"
MOST = 1000


def record(db: Db, *, job_id: str, max_cost_usd: float | None, at: datetime) -> None:
    """Keeps that a server began the run, with its cap; asked again, the newest cap holds."""
    append(db, Event(ASKED, "run", job_id, {"maxCostUsd": max_cost_usd}), at=at)


def cap_of(db: Db, job_id: str) -> tuple[float | None] | None:
    """The newest cap under which a server began the run; None where no server did."""
    row = db.execute(
        "SELECT detail FROM event WHERE subject_id = ? AND type = ? ORDER BY seq DESC LIMIT 1", (job_id, ASKED)
    ).fetchone()
    return None if row is None else (json.loads(row[0])["maxCostUsd"],)


def left_open(db: Db, *, closed: str) -> list[tuple[Job, float | None]]:
    """The runs of servers that are under way, or stopped with that reason, oldest first, each with its cap.

    A run that a command line began is the person's at that terminal to resume.
    """
    rows = db.execute(
        "SELECT j.id, (SELECT detail FROM event e WHERE e.subject_id = j.id AND e.type = ? ORDER BY e.seq DESC LIMIT 1) AS detail"
        " FROM job j WHERE (j.state = 'running' OR (j.state = 'stopped' AND j.reason = ?)) AND detail IS NOT NULL"
        " ORDER BY j.created_at, j.id LIMIT ?",
        (ASKED, closed, MOST),
    ).fetchall()
    open_jobs = [(job(db, ident), json.loads(detail)["maxCostUsd"]) for ident, detail in rows]
    return [(open_job, cap) for open_job, cap in open_jobs if open_job is not None]
