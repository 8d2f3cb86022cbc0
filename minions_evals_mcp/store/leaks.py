"""Known secrets in a store: kept there before the process knew them, or by one that did not."""

from __future__ import annotations

from collections.abc import Iterator

from minions_evals_mcp.known_secrets import masked, spellings
from minions_evals_mcp.store.connection import Db

AT_MOST = 20
"""So many places are named."""


def leaks(db: Db) -> list[str]:
    """Returns where a secret that this process knows stands in the store, in words that do not tell it."""
    known = spellings()
    places = (place for table in _tables(db) for place in _places(db, table, known)) if known else iter(())
    return [place for place, _ in zip(places, range(AT_MOST), strict=False)]


def _tables(db: Db) -> list[str]:
    return [
        row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    ]


def _places(db: Db, table: str, known: tuple[str, ...]) -> Iterator[str]:
    kinds = {name: kind for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})")}
    ident = "id" if "id" in kinds else next(iter(kinds))
    for column in (name for name, kind in kinds.items() if kind in {"TEXT", "ANY"}):
        wanted = " OR ".join(f"instr({column}, ?)" for _ in known)
        rows = db.execute(f"SELECT {ident}, {column} FROM {table} WHERE {wanted} LIMIT {AT_MOST}", known)
        for row, text in rows:
            marks = ", ".join(sorted({masked(value) for value in known if value in text}))
            yield f"one of your secrets, {marks}, is in {table} {masked(str(row))} ({column}): replace the secret"
