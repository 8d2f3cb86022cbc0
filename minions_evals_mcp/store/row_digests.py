"""A digest of every row, written beside it in the same transaction, so that damage shows which SQLite cannot see.

Triggers of the writing connection keep the digests: they are no part of the file, so a row that another program wrote has
none. An event's digest is made with the one before it: no event can be taken out or exchanged without the next one showing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from struct import Struct

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db, sqlite

_CHAINED = "event"
_TABLES = (
    'SELECT m.name, c.name, c.type, c.pk, c."notnull" OR c.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) c'
    " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'row_digest' ORDER BY m.name, c.cid"
)

_REFUSED = (
    "SELECT tbl_name FROM sqlite_schema WHERE type = 'trigger'"
    " AND sql LIKE '%BEFORE ' || ? || ' ON ' || tbl_name || char(10) || 'BEGIN SELECT RAISE(ABORT,%'"
)


@frozen_type
class DigestedTable:
    """A table whose rows have digests: its columns by how they are digested, and those by which a row is known."""

    table: str
    texts: tuple[str, ...]
    nullable: tuple[str, ...]
    reals: tuple[str, ...]
    keys: tuple[str, ...]

    def key(self, row: str) -> str:
        """The SQL for what a row is known by, where `row` is its name."""
        if self.keys == ("seq",):
            return f"+{row}.seq"  # without its affinity: with it the primary key of `row_digest` would not be searched
        return f"json_array({', '.join(f'{row}.{column}' for column in self.keys)})"

    def digest(self, row: str) -> str:
        """The SQL for a row's digest; reals go apart, for their text is not exact."""
        parts = ["char(31)", f"'{self.table}'", *(f"{row}.{column}" for column in self.texts)]
        parts.extend(f"ifnull({row}.{column}, char(30))" for column in self.nullable)
        if self.table == _CHAINED:
            before = f"SELECT digest FROM row_digest WHERE source = '{_CHAINED}' AND key = {row}.seq - 1"
            parts.append(f"ifnull(({before}), '')")
        content = f"CAST(concat_ws({', '.join(parts)}) AS BLOB)"
        return f"digest_of({', '.join([content, *(f'{row}.{column}' for column in self.reals)])})"


def sources(db: Db) -> list[DigestedTable]:
    """Every table of the store but the digests' own."""
    columns: dict[str, list[tuple[str, str, int, int]]] = {}
    for table, *column in db.execute(_TABLES):
        columns.setdefault(table, []).append(tuple(column))
    return [
        DigestedTable(
            table,
            tuple(name for name, kind, _, is_there in column if kind != "REAL" and is_there),
            tuple(name for name, kind, _, is_there in column if kind != "REAL" and not is_there),
            tuple(name for name, kind, _, _ in column if kind == "REAL"),
            tuple(name for name, _, place, _ in sorted(column, key=lambda column: column[2]) if place),
        )
        for table, column in columns.items()
    ]


def can_digest(db: Db) -> None:
    """Teaches the connection the function by which rows are digested."""
    db.create_function("digest_of", -1, _digest, deterministic=True)
    if sqlite.sqlite_version_info < (3, 44):
        db.create_function("concat_ws", -1, _joined, deterministic=True)


def _joined(mark: str, *parts: object) -> str:
    """Returns what SQLite makes itself since 3.44."""
    return mark.join(str(part) for part in parts if part is not None)


def _digest(content: bytes, *reals: float | None) -> int:
    exact = content
    if reals:
        exact += repr(reals).encode() if None in reals else _packed(len(reals))(*reals)
    return _NUMBER.unpack(blake2b(exact, digest_size=8).digest())[0]


_NUMBER = Struct(">q")


@cache
def _packed(count: int) -> Callable[..., bytes]:
    """Writes so many reals exactly."""
    return Struct(f"{count}d").pack


def keep(db: Db) -> None:
    """Makes the connection write the digest of every row that it writes; asked for before a write, for who only reads needs none."""
    if db.execute("SELECT 1 FROM sqlite_temp_schema LIMIT 1").fetchone():
        return
    can_digest(db)
    db.executescript(_triggers(tuple(sources(db)), _refused(db, "UPDATE"), _refused(db, "DELETE")))


def _refused(db: Db, change: str) -> frozenset[str]:
    """The tables of which the store itself refuses that change of any row."""
    return frozenset(table for (table,) in db.execute(_REFUSED, (change,)))


@cache
def _triggers(tables: tuple[DigestedTable, ...], fixed: frozenset[str], lasting_tables: frozenset[str]) -> str:
    """The script that makes them, in one transaction: each by itself takes twice the time."""
    made = (
        _on_new(source)
        + ("" if source.table in fixed else _on_changed(source))
        + ("" if source.table in lasting_tables else _on_gone(source))
        for source in tables
    )
    return f"BEGIN;\n{''.join(made)}COMMIT;"


def _on_new(source: DigestedTable) -> str:
    return (
        f"CREATE TEMP TRIGGER digest_{source.table}_new AFTER INSERT ON main.{source.table}"
        f" BEGIN INSERT INTO row_digest VALUES ('{source.table}', {source.key('NEW')}, {source.digest('NEW')}); END;\n"
    )


def _on_changed(source: DigestedTable) -> str:
    return (
        f"CREATE TEMP TRIGGER digest_{source.table}_changed AFTER UPDATE ON main.{source.table} BEGIN UPDATE row_digest"
        f" SET digest = {source.digest('NEW')} WHERE source = '{source.table}' AND key = {source.key('NEW')}; END;\n"
    )


def _on_gone(source: DigestedTable) -> str:
    return (
        f"CREATE TEMP TRIGGER digest_{source.table}_gone AFTER DELETE ON main.{source.table}"
        f" BEGIN DELETE FROM row_digest WHERE source = '{source.table}' AND key = {source.key('OLD')}; END;\n"
    )


def renew(db: Db) -> None:
    """Writes every digest anew, after a migration has changed the rows."""
    can_digest(db)
    db.execute("DELETE FROM row_digest")
    for source in sources(db):
        insert = f"INSERT INTO row_digest SELECT '{source.table}', {source.key('t')}, {source.digest('t')} FROM {source.table} t"
        if source.table == _CHAINED:  # each needs the one before it
            db.executemany(f"{insert} WHERE seq = ?", db.execute(f"SELECT seq FROM {_CHAINED} ORDER BY seq").fetchall())
        else:
            db.execute(insert)


def damage(db: Db, source: DigestedTable, *, most: int) -> Iterator[str]:
    """The rows of a table of which the digests say that they were changed, added or taken away behind the store's back."""
    table, key = source.table, source.key("t")
    rows = db.execute(
        f"SELECT {key}, d.digest IS NULL FROM {table} t LEFT JOIN row_digest d ON d.source = '{table}' AND d.key = {key}"
        f" WHERE d.digest IS NOT {source.digest('t')} LIMIT {most}"
    )
    for ident, is_foreign in rows:
        fault = "was not written by this program" if is_foreign else "has changed since it was written"
        yield f"digest: row {ident} of {table} {fault}"
    gone = db.execute(
        f"SELECT key FROM row_digest WHERE source = '{table}' EXCEPT SELECT {key} FROM {table} t LIMIT {most}"
    )
    yield from (f"digest: row {ident} of {table} is missing" for (ident,) in gone)


def strays(db: Db) -> list[str]:
    """Digests of tables that are not there."""
    known = {source.table for source in sources(db)}
    named = {row[0] for row in db.execute("SELECT DISTINCT source FROM row_digest")}
    return [f"digest: table {name} is missing" for name in sorted(named - known)]
