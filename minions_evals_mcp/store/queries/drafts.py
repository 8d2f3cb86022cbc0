"""Test cases that were made of a failure and wait for a person to say what is right."""

from __future__ import annotations

import json

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.case_history import cases_asking

_OPEN = (
    "FROM minion WHERE type = 'test-case' AND id >= 'promoted/' AND id < 'promoted0' AND deleted_at IS NULL"
    " AND CASE WHEN json_valid(fields) THEN json_extract(fields, '$.status') END = 'draft'"
)


def count_drafts(db: Db) -> int:
    """Returns how many promoted cases are drafts. A sealed case is encrypted, and no draft."""
    return db.execute(f"SELECT count(*) {_OPEN}").fetchone()[0]


def case_of_newest_draft(db: Db) -> str | None:
    """The case whose failure the newest draft was made of, by its inputs; None for one of a trace."""
    row = db.execute(f"SELECT id, fields ->> '$.inputs' {_OPEN} ORDER BY updated_at DESC, id LIMIT 1").fetchone()
    if row is None:
        return None
    return next(iter(cases_asking(db, inputs=json.loads(row[1] or "{}"), but=row[0])), None)
