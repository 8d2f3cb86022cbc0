"""The test cases that ask for what an agent-run was given."""

from __future__ import annotations

import json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.store.connection import Db


def cases_with_inputs(db: Db, inputs: Json, *, agent_id: str) -> list[str]:
    """The active test cases with equal inputs that name that agent or none, in the order in which they were written."""
    rows = db.execute(
        "SELECT id, json_extract(fields, '$.inputs') FROM minion WHERE type = 'test-case' AND deleted_at IS NULL"
        " AND coalesce(json_extract(fields, '$.status'), 'active') = 'active'"
        " AND coalesce(json_extract(fields, '$.agentId'), ?) = ? ORDER BY seq",
        (agent_id, agent_id),
    )
    return [ident for ident, text in rows if json.loads(text or "{}") == inputs]


def scheduled(db: Db) -> list[tuple[str, str]]:
    """The active benchmarks that have a schedule, each with it."""
    rows = db.execute(
        "SELECT id, json_extract(fields, '$.schedule') FROM minion WHERE type = 'benchmark' AND deleted_at IS NULL"
        " AND json_extract(fields, '$.schedule') IS NOT NULL AND coalesce(json_extract(fields, '$.status'), 'active') = 'active'"
        " ORDER BY seq"
    )
    return rows.fetchall()
