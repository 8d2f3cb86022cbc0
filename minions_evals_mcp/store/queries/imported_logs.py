"""Logs of other tools that were imported, by their contents."""

from __future__ import annotations

from minions_evals_mcp.store.connection import Db


def log_with_content(db: Db, form: str, content: str) -> str | None:
    """The id of the log of that format which was imported from a file of these contents."""
    row = db.execute(
        "SELECT fields ->> '$.extra.log.id' FROM minion WHERE type = 'prompt-version'"
        " AND fields ->> '$.extra.log.content' = ? AND fields ->> '$.extra.log.format' = ? LIMIT 1",
        (content, form),
    ).fetchone()
    return None if row is None else str(row[0])
