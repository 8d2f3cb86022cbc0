"""The ids among which somebody who named one that is not there may have meant another."""

from __future__ import annotations

from minions_evals_mcp.domain.records import TYPES
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
    return ids_beginning(db, kind, "", limit=MOST) if kind in TYPES else []


def _keys(db: Db) -> list[str]:
    return [row[0] for row in db.execute(f"SELECT key FROM job ORDER BY created_at DESC {AT_MOST}", (MOST,))]
