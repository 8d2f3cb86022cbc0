"""Test cases that were made of a failure and wait for a person to say what is right."""

from __future__ import annotations

from minions_evals_mcp.store.connection import Db


def count_drafts(db: Db) -> int:
    """Returns how many promoted cases are drafts. A sealed case is encrypted, and no draft."""
    row = db.execute(
        "SELECT count(*) FROM minion WHERE type = 'test-case' AND id >= 'promoted/' AND id < 'promoted0' AND deleted_at IS NULL"
        " AND CASE WHEN json_valid(fields) THEN json_extract(fields, '$.status') END = 'draft'"
    ).fetchone()
    return row[0]
