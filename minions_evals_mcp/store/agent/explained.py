"""How often the agent asked a model why something failed, by day."""

from __future__ import annotations

from datetime import datetime

from minions_evals_mcp.store.connection import Db


def explained_on(db: Db, at: datetime) -> int:
    """So many questions were asked on that day (UTC)."""
    row = db.execute("SELECT calls FROM explained_day WHERE day = ?", (at.date().isoformat(),)).fetchone()
    return 0 if row is None else row[0]


def count_explained(db: Db, at: datetime, calls: int) -> None:
    """Counts questions of that day."""
    day = at.date().isoformat()
    changed = db.execute("UPDATE explained_day SET calls = calls + ? WHERE day = ?", (calls, day))
    if changed.rowcount == 0:
        db.execute("INSERT INTO explained_day (day, calls) VALUES (?, ?)", (day, calls))
