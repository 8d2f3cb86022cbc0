"""Test cases that ask what a new one may ask, too."""

from __future__ import annotations

import json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.store.connection import Db

MOST = 2_000


def asked_before(db: Db, tag: str, prompt_id: str | None) -> dict[str, tuple[tuple[str, ...], Json]]:
    """Tags and inputs of the newest cases with that tag or of that prompt, by id."""
    rows = db.execute(
        "SELECT id, tags, json_extract(fields, '$.inputs') FROM minion WHERE type = 'test-case' AND deleted_at IS NULL"
        " AND (json_extract(fields, '$.promptId') = ? OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?))"
        " ORDER BY seq DESC LIMIT ?",
        (prompt_id, tag, MOST),
    )
    return {ident: (tuple(json.loads(tags)), json.loads(inputs or "{}")) for ident, tags, inputs in rows}
