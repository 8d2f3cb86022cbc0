"""The ids among which somebody who named one that is not there may have meant another."""

from __future__ import annotations

from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import AT_MOST, Db
from minions_evals_mcp.store.queries.pages.listings import ids_beginning

MOST = 10_000
"""Of one type; the newest are looked at."""
MOST_OF_EACH = 1_000
"""Where the type is not known, of each."""


def ids_of(db: Db, kind: str) -> list[str]:
    """The newest ids of that kind, `record` being any type's and a run's keys among its ids; none for what has no ids."""
    if kind == "record":
        return [ident for type_ in TYPES for ident in ids_beginning(db, type_, "", limit=MOST_OF_EACH)]
    if kind in {"run", "benchmark-run"}:
        return [*ids_beginning(db, kind, "", limit=MOST), *_keys(db)]
    return ids_beginning(db, kind, "", limit=MOST) if kind == "prompt" or kind in TYPES else []


def kind_under(db: Db, ident: str) -> str:
    """Returns of which type the record under that id is, `run` for a run's id or key; empty where nothing stands there."""
    record = records.find(db, ident)
    if record is not None:
        return record.type
    run = db.execute("SELECT 1 FROM job WHERE id = ?1 OR key = ?1 LIMIT 1", (ident,)).fetchone()
    return "run" if run else ""


def ids_titled(db: Db, kind: str, title: str) -> list[str]:
    """The ids of a few definitions of that type that are called so."""
    rows = db.execute(
        f"SELECT id FROM minion WHERE type = ? AND deleted_at IS NULL AND title = ? COLLATE NOCASE {AT_MOST}",
        (kind, title, 3),
    )
    return [row[0] for row in rows]


def _keys(db: Db) -> list[str]:
    return [row[0] for row in db.execute(f"SELECT key FROM job ORDER BY created_at DESC {AT_MOST}", (MOST,))]
