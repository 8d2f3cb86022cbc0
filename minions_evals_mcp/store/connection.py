"""One way to open the file: the SQLite that lacks the WAL-reset bug, the pragmas that lose nothing, and errors in our words."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import aiosqlite
import anyio
import anyio.to_thread

from minions_evals_mcp.errors import ConflictError, EvalsError, RuleError, SealedError, StoreError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.private_files import create_private

if TYPE_CHECKING:
    import sqlite3 as sqlite  # noqa: TID251  pysqlite3 has no types; its interface is the stdlib's
else:
    try:
        from pysqlite3 import dbapi2 as sqlite
    except ImportError:  # no wheel for this system
        import sqlite3 as sqlite  # noqa: TID251  the one way out

LEAST_VERSION = (3, 38, 0)
"""JSON functions and STRICT tables are there from this release on."""


def library_problem(version: tuple[int, int, int] = sqlite.sqlite_version_info) -> str:
    """What that SQLite lacks; empty where it can hold a store."""
    if version >= LEAST_VERSION:
        return ""
    needed, there = (".".join(map(str, one)) for one in (LEAST_VERSION, version))
    return f"SQLite {there} is too old for a store, which needs {needed}."


sqlite.register_adapter(type(None), dict[None, None]().get)
"""None is written as it is. Else a way to adapt it is looked for at each, which takes longer than the rest of its row."""

APPLICATION_ID = 0x4D494E45  # "MINE"
Db = sqlite.Connection
T = TypeVar("T")

STATEMENTS = 1024
"""How many prepared statements a connection keeps, more than we have: where there is no room left for two that are new,
each takes the other's place, and both are prepared anew at every call. Opening a file takes more than the usual 128."""

AT_MOST = "LIMIT ? + 0"
"""How a query that is asked often ends: at a bare `LIMIT ?` SQLite prepares it anew each time, to plan by the value."""

FIXED_IN = ((3, 51, 3), (3, 50, 7), (3, 44, 6))
"""The releases that mend the WAL-reset bug, each in its own branch."""


def library_version() -> str:
    """The version of the SQLite library in use."""
    return sqlite.sqlite_version


def wal_is_safe(version: tuple[int, int, int] = sqlite.sqlite_version_info) -> bool:
    """Returns whether that SQLite can share a write-ahead log between processes without losing pages."""
    return version >= FIXED_IN[0] or any(fix <= version and version[:2] == fix[:2] for fix in FIXED_IN[1:])


CHECK = Next("db-check", reason="shows what is damaged")
DAMAGED = (
    "Keep the file and restore the newest backup. Or:"
    f" {Next('db-salvage', reason='copies the intact part into a new store')}."
)


@dataclass(slots=True)
class OpenedFile:
    """The file that a connection has open, known by its inode, and its write-ahead log, known once there is one.

    SQLite goes on with what it has open when the file is deleted, moved or replaced, and says nothing.
    """

    path: Path
    store: tuple[int, int] | None
    log: tuple[int, int] | None = None

    def vet(self) -> None:
        """Raises `StoreError` where the path does not lead to the open file any more."""
        if self.store is None:
            return
        now = _inode(self.path)
        if now != self.store:
            raise _taken_away(self.path, "was deleted or moved" if now is None else "was replaced by another file")
        log = _inode(self.path.with_name(f"{self.path.name}-wal"))
        if self.log is not None and log != self.log:
            raise _taken_away(self.path, "lost its write-ahead log (the file beside it that ends in -wal)")
        self.log = log


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (found.st_dev, found.st_ino)


def _taken_away(path: Path, what: str) -> StoreError:
    return StoreError(
        f"the store {path} {what} while it was open. Changes since then are not saved in it.",
        remedy="Stop whatever moves or cleans up files there, then run again.",
    )


class Connection(aiosqlite.Connection):
    """A connection in its own thread that runs a whole function there, so that no cancellation can split a transaction."""

    file: OpenedFile | None = None

    async def run(self, work: Callable[[Db], T]) -> T:
        """Returns what `work` returns, run from start to end in the connection's thread."""
        return await self._execute(_outcome, work, self._conn)

    async def run_whole(self, work: Callable[[Db], None]) -> None:
        """As `run`, and returns, or raises, when the work is over however often the waiting task was cancelled meanwhile."""
        errors: list[Exception] = []
        over = False

        def noted(db: Db) -> None:
            nonlocal over
            try:
                work(db)
            except Exception as error:  # noqa: BLE001  raised below, in the task that waits
                errors.append(error)
            finally:
                over = True

        with suppress(anyio.get_cancelled_exc_class()):
            await self.run(noted)
        while not over:
            with suppress(anyio.get_cancelled_exc_class()):
                await self.run(lambda _: None)  # the thread comes to it once the work is over
        if errors:
            raise errors[0]

    async def close(self) -> None:
        """Ends the thread too where opening failed: aiosqlite leaves it to speak to a loop that may have gone by then."""
        if self._connection is None and self._thread.is_alive():
            await anyio.to_thread.run_sync(self._thread.join)
        await super().close()


def _outcome(work: Callable[[Db], T], db: Db) -> T:
    """Returns what `work` returns or raises; a `StopIteration` would be taken for the end of the awaiting coroutine."""
    try:
        return work(db)
    except StopIteration as error:
        raise RuntimeError("the work on the store raised StopIteration") from error


def connect(path: Path, *, read_only: bool = False) -> Connection:
    """An unopened connection to that file; await it to open."""

    def opened() -> Db:
        db = open_raw(path, read_only=read_only)
        connection.file = OpenedFile(path.absolute(), _inode(path))
        return db

    connection = Connection(opened, 64)
    return connection


def open_raw(path: Path, *, read_only: bool = False) -> Db:
    """A plain connection with our pragmas; raises `StoreError` where the file cannot be used."""
    if problem := library_problem():
        raise StoreError(problem, remedy="Use a newer Python, or install pysqlite3 where it can be built.")
    with translated(path):
        mode = "ro" if read_only else "rwc"
        if not read_only:
            _make_private(path)
        if read_only and stands_still(path):
            mode = "ro&immutable=1"
        db = sqlite.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False,
            cached_statements=STATEMENTS,
        )  # fmt: skip
        try:
            _set_pragmas(db, read_only=read_only)
        except BaseException:
            db.close()
            raise
        return db


def stands_still(path: Path) -> bool:
    """Whether the store lies where nothing can be written, so that it needs no lock: SQLite would make files beside it to take one.

    What a log beside it holds is not in the file yet: then it is read with the log, or not at all.
    """
    log = path.with_name(path.name + "-wal")
    return path.is_file() and not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def _make_private(path: Path) -> None:
    """Makes a new store's file, readable by its owner only; SQLite gives the files beside it the same mode.

    A link that leads nowhere yet is followed, as SQLite follows it.
    """
    with suppress(FileExistsError):
        create_private(os.path.realpath(path))


@cache
def distrusts_schemas() -> bool:
    """Whether this SQLite lets a schema that is not trusted use JSON functions, which ours does; older ones do not."""
    db = sqlite.connect(":memory:")
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("CREATE TABLE one (value TEXT CHECK (json_type(value) = 'object'))")
        db.execute("INSERT INTO one VALUES ('{}')")
    except sqlite.OperationalError:
        return False
    finally:
        db.close()
    return True


def _set_pragmas(db: Db, *, read_only: bool) -> None:
    db.execute("PRAGMA busy_timeout = 10000")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA recursive_triggers = ON")
    if distrusts_schemas():
        db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA mmap_size = 0")
    if read_only:
        db.execute("PRAGMA query_only = ON")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    else:
        # For the digests' triggers; asked for later, once the schema is read, it would have it read anew.
        db.execute("PRAGMA temp_store = MEMORY")


def make_durable(db: Db) -> None:
    """Sets how the file is written. It changes the file itself, so it must be known to be ours."""
    db.execute(f"PRAGMA journal_mode = {'WAL' if wal_is_safe() else 'DELETE'}").fetchone()
    db.execute("PRAGMA synchronous = FULL")


TOGETHER = (50, 10, 1)
"""So many rows are written by one statement: a statement's own start costs half as much as its row."""
HELD = 1000
"""So many rows at most are held before they are written."""


def insert_rows(db: Db, into: str, rows: Iterable[Sequence[object]], *, then: str = "") -> None:
    """Writes rows of one width into a table; `then` is what follows their values in the statement."""
    waiting = iter(rows)
    while page := [*islice(waiting, HELD)]:
        at = 0
        for size in TOGETHER:
            end = at + (len(page) - at) // size * size
            if end > at:
                together = ([*chain.from_iterable(page[n : n + size])] for n in range(at, end, size))
                db.executemany(_insertion(into, len(page[0]), size, then), together)
            at = end


@cache
def _insertion(into: str, width: int, rows: int, then: str) -> str:
    row = f"({','.join('?' * width)})"
    return f"INSERT INTO {into} VALUES {','.join([row] * rows)} {then}"


@contextmanager
def translated(path: Path | str = "") -> Generator[None]:
    """SQLite's and the system's errors in our words."""
    try:
        yield
    except sqlite.Error as error:
        raise _in_words(error, path) from error
    except UnicodeDecodeError as error:  # damaged text, in a row or in SQLite's own message about it
        raise StoreError(f"the store {path} contains invalid text.", remedy=DAMAGED) from error
    except OSError as error:
        remedy = _REMEDIES.get(_ALIKE.get(error.errno or 0, ""), "Check the path and its permissions.")
        raise StoreError(f"the store {path} cannot be used: {error.strerror or error}.", remedy=remedy) from error


def _in_words(error: sqlite.Error, path: Path | str) -> EvalsError:
    text = str(error)
    if isinstance(error, sqlite.IntegrityError):
        rule, _, rest = text.partition(": ")
        if rule.startswith("HR"):
            return RuleError(rule, rest)
        if rule == "SEALED":
            return SealedError(f"{rest}.")
        if "HR4_rationale" in text:
            return RuleError("HR4", "a judgment needs a rationale")
        return ConflictError(f"the store refused it: {text}.")
    name: str = getattr(error, "sqlite_errorname", "") or ""
    for prefix, message, remedy in _SAID:
        if name.startswith(prefix) or message in text:
            return StoreError(f"the store {path} cannot be used: {text}.", remedy=remedy)
    return StoreError(f"the store {path} failed: {text}.", remedy=f"{CHECK}.")


_SAID = (
    ("SQLITE_FULL", "is full", "The disk is full: free some space and run again. Committed data is safe."),
    (
        "SQLITE_READONLY",
        "readonly",
        f"The file or its folder is read-only: choose another with {argument('db')}, or change its permissions.",
    ),
    (
        "SQLITE_CANTOPEN",
        "unable to open",
        f"The file cannot be opened: check that its folder exists and is writable, or use {argument('db')}.",
    ),
    (
        "SQLITE_NOTADB",
        "not a database",
        f"The file is not a store: choose another with {argument('db')}, or restore a backup.",
    ),
    ("SQLITE_CORRUPT", "malformed", DAMAGED),
    ("SQLITE_BUSY", "locked", "Another process holds the file: wait for it, or stop it."),
    ("SQLITE_IOERR", "disk I/O", f"The disk failed a read or write: check it. Then: {CHECK}."),
)
_REMEDIES = {name: remedy for name, _, remedy in _SAID}
_ALIKE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "SQLITE_FULL"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "SQLITE_READONLY"),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG), "SQLITE_CANTOPEN"),
    errno.EIO: "SQLITE_IOERR",
}
"""The system's errors that have the cause, and the remedy, of one of SQLite's."""


def file_of(db: Db) -> str:
    """The file of the store that is read."""
    return str(db.execute("PRAGMA database_list").fetchone()[2])
