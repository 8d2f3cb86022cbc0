"""Telemetry that came and is no agent-run yet: kept until its turn is whole, so that no kill loses it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import Db


def put(db: Db, parts: Iterable[Json], *, at: datetime) -> list[int]:
    """Keeps the parts, a row for each trace or session; the numbers of the rows, in order."""
    query = "INSERT INTO telemetry (came_at, parts) VALUES (?, ?) RETURNING row"
    return [int(db.execute(query, (to_millis(at), masked(json.dumps(wire)))).fetchone()[0]) for wire in parts]


def waiting(db: Db) -> list[tuple[int, Json]]:
    """The rows that are kept, in the order in which they came."""
    return [(int(row), json.loads(parts)) for row, parts in db.execute("SELECT row, parts FROM telemetry ORDER BY row")]


def drop(db: Db, rows: Iterable[int]) -> None:
    """Drops those rows, of which agent-runs were made."""
    db.execute("DELETE FROM telemetry WHERE row IN (SELECT value FROM json_each(?))", (json.dumps([*rows]),))
