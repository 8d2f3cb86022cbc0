"""The rows of a damaged store that are provably whole: readable, and as their digests say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from minions_evals_mcp.store.connection import Db, sqlite
from minions_evals_mcp.store.row_digests import DigestedTable, can_digest, sources

Row = dict[str, Any]
UNREADABLE = (sqlite.DatabaseError, UnicodeDecodeError)


@dataclass(slots=True)
class Provable:
    """Of each table the rows that are whole, by key, and the keys of those that are not."""

    rows: dict[str, dict[object, Row]] = field(default_factory=dict[str, dict[object, Row]])
    lost: dict[str, set[object]] = field(default_factory=dict[str, set[object]])

    def of(self, table: str) -> Iterable[Row]:
        """The whole rows of a table, in the order of their keys."""
        return self.rows.get(table, {}).values()


def provable_rows(db: Db) -> Provable:
    """Reads row by row, so that a damaged page costs only what lies on it."""
    can_digest(db)
    provable = Provable()
    for source in sources(db):
        rows = provable.rows[source.table] = {}
        lost = provable.lost[source.table] = set()
        for key in _keys(db, source):
            row = _row(db, source, key)
            if row is None:
                lost.add(key)
            else:
                rows[key] = row
        if source.keys == ("seq",):
            lost.update(set(range(1, max((int(str(key)) for key in {*rows, *lost}), default=0))) - rows.keys())
    return provable


def _keys(db: Db, source: DigestedTable) -> list[object]:
    """The keys for which there are digests, from both ends as far as they can be read."""
    seen: dict[object, None] = {}
    for order in ("ASC", "DESC"):
        rows = f"SELECT key FROM row_digest WHERE source = '{source.table}' ORDER BY key {order}"
        seen.update(dict.fromkeys(_until_damage(db, rows)))
    return sorted(seen, key=lambda key: (isinstance(key, str), key))  # pyright: ignore[reportArgumentType]  a number or a text


def _until_damage(db: Db, query: str) -> Iterator[object]:
    try:
        for (key,) in db.execute(query):
            yield key
    except UNREADABLE:
        return


def _row(db: Db, source: DigestedTable, key: object) -> Row | None:
    """The row, if it is as it was written."""
    values = [key] if source.keys == ("seq",) else json.loads(str(key))
    where = " AND ".join(f"t.{column} = ?" for column in source.keys)
    written = "SELECT digest FROM row_digest WHERE source = ? AND key = ?"
    try:
        cursor = db.execute(
            f"SELECT t.* FROM {source.table} t WHERE {where} AND {source.digest('t')} = ({written})",
            (*values, source.table, key),
        )
        row = cursor.fetchone()
    except UNREADABLE:
        return None
    return None if row is None else dict(zip((column[0] for column in cursor.description), row, strict=True))
