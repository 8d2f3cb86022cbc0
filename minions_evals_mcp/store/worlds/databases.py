"""A SQLite database of a world. Its SQL is a stranger's: it reaches no other file, changes no setting, and ends in time."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.querying.queries import QueryError
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.store.connection import Db, sqlite

MAX_BYTES = 16_000_000
MAX_DUMP = 1_000_000
"""A final state is kept up to this length."""
MAX_ROWS = 1000
STEP, MAX_STEPS = 10_000, 2_000
"""A statement is ended after so many steps of so many instructions, about two seconds."""
FILE_HEAD = b"SQLite format 3\0"
_PAGE = 4096
_NAMED = re.compile(r"[:@$]([A-Za-z_]\w*)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_REFUSED = {
    sqlite.SQLITE_ATTACH: "ATTACH or VACUUM INTO",
    sqlite.SQLITE_DETACH: "DETACH",
    sqlite.SQLITE_PRAGMA: "PRAGMA",
    sqlite.SQLITE_CREATE_VTABLE: "a virtual table",
    sqlite.SQLITE_DROP_VTABLE: "a virtual table",
}
_CONTROL = {sqlite.SQLITE_TRANSACTION: "BEGIN, COMMIT or ROLLBACK", sqlite.SQLITE_SAVEPOINT: "SAVEPOINT"}
_READING = {sqlite.SQLITE_SELECT, sqlite.SQLITE_READ, sqlite.SQLITE_FUNCTION, sqlite.SQLITE_RECURSIVE}
_FUNCTIONS = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "random", "randomblob",
                        "zeroblob", "printf", "format"})  # fmt: skip
"""Functions that reach out of the database, answer otherwise each time, or make a value of any length."""


class SqlError(Exception):
    """SQL that cannot be carried out; `by_data`: because a constraint forbids these values."""

    def __init__(self, reason: str, *, by_data: bool = False) -> None:
        super().__init__(reason)
        self.by_data = by_data


@dataclass(slots=True)
class WorldDatabase:
    """An open database. It may be used by several threads, one at a time."""

    _db: Db
    _mode: str = "own"
    _refused: str = ""
    _steps: int = 0

    def __post_init__(self) -> None:
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "synchronous=OFF", "foreign_keys=ON",
                       f"max_page_count={MAX_BYTES // _PAGE}"):  # fmt: skip
            self._db.execute(f"PRAGMA {pragma}")
        self._db.set_authorizer(self._allowed)
        self._db.set_progress_handler(self._tick, STEP)

    def _allowed(self, action: int, first: str | None, second: str | None, *_: object) -> int:
        if self._mode == "own":
            return sqlite.SQLITE_OK
        refused = _REFUSED.get(action, "")
        if self._mode == "script":
            refused = "" if action == sqlite.SQLITE_PRAGMA and first == "foreign_keys" else refused
        else:
            refused = refused or _CONTROL.get(action, "")
        if action == sqlite.SQLITE_FUNCTION and second in _FUNCTIONS:
            refused = f"{second}()"
        if self._mode == "read" and action not in _READING:
            refused = refused or "a statement that changes something"
        self._refused = self._refused or refused
        return sqlite.SQLITE_DENY if refused else sqlite.SQLITE_OK

    def _tick(self) -> int:
        self._steps += 1
        return int(self._steps > MAX_STEPS)

    @contextmanager
    def _as(self, mode: str) -> Generator[None]:
        """Has a stranger's SQL carried out, and says in its terms why it is not."""
        self._mode, self._refused, self._steps = mode, "", 0
        try:
            yield
        except (sqlite.Error, sqlite.Warning, OverflowError) as error:
            if self._refused:
                raise SqlError(f"{self._refused} is not allowed in the database of a world") from None
            if self._steps > MAX_STEPS:
                raise SqlError("the statement takes too long") from None
            raise SqlError(str(error), by_data=isinstance(error, sqlite.IntegrityError)) from None
        finally:
            self._mode = "own"

    def script(self, text: str) -> None:
        """Carries out the statements of a script, such as a dump; raises `SqlError`."""
        with self._as("script"):
            self._db.executescript(text)
        if self._db.in_transaction:
            self._db.rollback()
            raise SqlError("the script ends within a transaction")
        self._db.execute("PRAGMA foreign_keys=ON")

    def run(self, statement: str, arguments: Mapping[str, JsonValue], *, reads: bool) -> tuple[list[Json], int]:
        """The rows of one statement, and how many it changed. `:name` in it is that argument; raises `SqlError`."""
        with self._as("read" if reads else "change"):
            cursor = self._db.execute(statement, bound(statement, arguments))
            rows = cursor.fetchmany(MAX_ROWS + 1)
            if len(rows) > MAX_ROWS:
                raise SqlError(f"it returns more than {MAX_ROWS} rows")
            names = [column[0] for column in cursor.description or ()]
            changed = max(cursor.rowcount, 0)
        return [dict(zip(names, map(_json, row), strict=True)) for row in rows], changed

    def begin(self) -> int:
        """Begins a transaction; the number of the journal's entries that the database holds."""
        with self._as("own"):
            self._db.execute("BEGIN IMMEDIATE")
            (applied,) = self._db.execute("PRAGMA application_id").fetchone()
        return int(applied)

    def savepoint(self) -> None:
        """Begins what `undo` takes back."""
        self._db.execute("SAVEPOINT rule")

    def undo(self) -> None:
        """Takes back what was changed since the savepoint."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK TO rule")

    @property
    def is_in_transaction(self) -> bool:
        """Whether a transaction is open: some errors end it."""
        return self._db.in_transaction

    def commit(self, applied: int) -> None:
        """Ends the transaction: the database holds so many entries of the journal."""
        self._db.execute(f"PRAGMA application_id={applied}")
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Gives the transaction up."""
        self._db.rollback()

    def dump(self) -> str | None:
        """The database as a script; None where that is longer than is kept. Raises `SqlError` where its file is spoilt."""
        with self._as("own"):
            return self._dumped()

    def _dumped(self) -> str | None:
        schema = self._db.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        ).fetchall()
        tables = [(name, sql) for kind, name, sql in schema if kind == "table"]
        lines = ["PRAGMA foreign_keys=OFF;", *(f"{sql};" for _, sql in tables)]
        has_numbers = self._db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").fetchone()
        length = 0
        for name in (*(name for name, _ in tables), *(["sqlite_sequence"] if has_numbers else [])):
            if name == "sqlite_sequence":
                lines.append("DELETE FROM sqlite_sequence;")
            for line in self._inserts(name):
                length += len(line)
                if length > MAX_DUMP:
                    return None
                lines.append(line)
        return "\n".join([*lines, *(f"{sql};" for kind, _, sql in schema if kind != "table")])

    def _inserts(self, table: str) -> Generator[str]:
        columns = [_quoted(row[1]) for row in self._db.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()]
        values = " || ', ' || ".join(f"quote({column})" for column in columns)
        for (row,) in self._db.execute(f"SELECT {values} FROM {_quoted(table)}"):
            yield f"INSERT INTO {_quoted(table)}({', '.join(columns)}) VALUES ({row});"

    def close(self) -> None:
        """Closes it."""
        self._db.close()


def opened(path: Path | str) -> WorldDatabase:
    """The database at the path, or a new one in memory."""
    return WorldDatabase(sqlite.connect(str(path), isolation_level=None, check_same_thread=False))


def bound(statement: str, arguments: Mapping[str, JsonValue]) -> Json:
    """The values of the names in a statement: numbers and texts as they are, others as JSON, NULL where there is no argument."""
    return {name: _plain(arguments.get(name)) for name in _NAMED.findall(statement)}


def names_in(statement: str) -> list[str]:
    """The names of arguments in a statement, texts aside."""
    return _NAMED.findall(_QUOTED.sub("", statement))


def answer(dump: str, query: str) -> JsonValue:
    """What a query gives over a dump: one value where it gives one row of one column, a list of values where it has one column,
    else its rows as objects. Raises `QueryError`.
    """
    database = opened(":memory:")
    try:
        database.script(dump)
        rows, _ = database.run(query, {}, reads=True)
    except SqlError as error:
        raise QueryError(f"{query}: {error}") from None
    finally:
        database.close()
    values = [next(iter(row.values())) for row in rows if len(row) == 1]
    if len(values) < len(rows):
        return [*rows]
    return values[0] if len(values) == 1 else [*values]


def script_problem(script: str) -> str | None:
    """Why a script makes no database, if it makes none."""
    database = opened(":memory:")
    try:
        database.script(script)
    except SqlError as error:
        return str(error)
    finally:
        database.close()
    return None


def _plain(value: JsonValue) -> JsonValue:
    return canonical(value) if isinstance(value, list | dict) else value


def _json(value: object) -> JsonValue:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and value - value != 0:  # endless
        return str(value)
    return value if isinstance(value, str | int | float) else None


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
