"""The number of times that the agent asked a model why something failed, by day."""

from __future__ import annotations

from datetime import datetime

from minions_evals_mcp.store.connection import Db


def explained_on(db: Db, at: datetime) -> int:
    """So many questions were asked on that day (UTC)."""
    row = db.execute("SELECT calls FROM explained_day WHERE day = ?", (at.date().isoformat(),)).fetchone()
    return 0 if row is None else row[0]


def count_question(db: Db, at: datetime, *, most: int) -> bool:
    """Counts one more question of that day; false where there have been `most` already."""
    day, count = at.date().isoformat(), explained_on(db, at)
    if count >= most:
        return False
    if db.execute("UPDATE explained_day SET calls = calls + 1 WHERE day = ?", (day,)).rowcount == 0:
        db.execute("INSERT INTO explained_day (day, calls) VALUES (?, 1)", (day,))
    return True
