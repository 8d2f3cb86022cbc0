"""The feed of events, read on from a number: how the agent follows the engine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import from_millis
from minions_evals_mcp.store.connection import Db


@dataclass(frozen=True, slots=True)
class Happened:
    """An event as it is kept."""

    seq: int
    at: datetime
    type: str
    subject_type: str
    subject_id: str
    detail: Json


def happened(db: Db, *, after: int, types: tuple[str, ...] | None = None, limit: int = 100) -> list[Happened]:
    """The events that follow that number, oldest first; of those types only where they are named."""
    named = None if types is None else json.dumps(types)
    rows = db.execute(
        "SELECT seq, at, type, subject_type, subject_id, detail FROM event WHERE seq > ?"
        " AND (? IS NULL OR type IN (SELECT value FROM json_each(?))) ORDER BY seq LIMIT ?",
        (after, named, named, limit),
    )
    return [
        Happened(seq, from_millis(at), kind, subject_type, subject_id, json.loads(detail))
        for seq, at, kind, subject_type, subject_id, detail in rows
    ]


def last_event(db: Db) -> int:
    """The number of the newest event; 0 where nothing has happened."""
    return db.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0]


def count_happened(db: Db, *, after: int, types: tuple[str, ...]) -> int:
    """Returns how many events of those types follow that number."""
    return db.execute(
        "SELECT count(*) FROM event WHERE seq > ? AND type IN (SELECT value FROM json_each(?))",
        (after, json.dumps(types)),
    ).fetchone()[0]
