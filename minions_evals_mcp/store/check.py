"""`db check`: the file's integrity, and every hard rule over every row, told in words as it is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anyio

from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.check_rules import RULES
from minions_evals_mcp.store.connection import Db, connect, sqlite, translated
from minions_evals_mcp.store.leaks import leaks
from minions_evals_mcp.store.migrate import migrations, require_store, statements
from minions_evals_mcp.store.records import counts

AT_MOST = 20
"""How many rows of one kind of problem are named."""


DEEP_UP_TO = 256 * 2**20
"""The size of a store, in bytes, up to which each row is compared with its digest unasked: about 5 s of CPU at the limit."""

CONTENT = ("the content of each row", "the indexes")
"""What only a deep check looks at."""

BEYOND_PAGES = ("the references", "the schema", "the hard rules", "known secrets", "the gapless events")
"""What is looked at only where the pages are whole."""


@dataclass(frozen=True, slots=True)
class StoreReport:
    """The faults, in words, how many rows were looked at, and what was not looked at."""

    problems: tuple[str, ...]
    checked: dict[str, int]
    not_checked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Looking:
    """The place that is looked at next."""

    at: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong."""

    said: str


Found = Looking | Problem


def is_deep_by_default(path: Path) -> bool:
    """Whether the store is small enough that each row is compared with its digest unasked."""
    try:
        return path.stat().st_size <= DEEP_UP_TO
    except OSError:  # the check itself says what is wrong with it
        return False


async def check_store(path: Path, *, deep: bool = False, tell: Callable[[Found], None] | None = None) -> StoreReport:
    """Everything that is wrong with the store, told as it is found; `deep` compares every row with its indexes and digest too.

    `tell` is called in a thread of its own. Raises `StoreError` where the store cannot be read at all.
    """
    if not await anyio.Path(path).exists():
        raise StoreError(
            f"no store at {path}.",
            remedy=f"Name it with {argument('db')}. {Next('demo', reason='creates one')}.",
        )
    connection = connect(path, read_only=True)
    try:
        await connection
        with translated(path):
            return await connection.run(lambda db: _report(db, path, deep=deep, tell=tell or _tell_nobody))
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


def _tell_nobody(finding: Found) -> None:
    del finding


_NULL = re.compile(r"NULL value in (\w+)\.(\w+)")


def _is_untrue(db: Db, problem: str) -> bool:
    """Tells whether no row has the NULL that is reported: SQLite before 3.41 misreads tables without rowid."""
    named = _NULL.fullmatch(problem)
    return (
        named is not None
        and not db.execute(f'SELECT 1 FROM "{named[1]}" WHERE "{named[2]}" IS NULL LIMIT 1').fetchone()
    )


def _report(db: Db, path: Path, *, deep: bool, tell: Callable[[Found], None]) -> StoreReport:
    require_store(db, path)
    db.text_factory = _legible
    db.execute("BEGIN")  # one state of the store, whoever writes meanwhile
    tell(Looking("pages"))
    problems: list[str] = []
    for row in db.execute(f"PRAGMA {'integrity_check' if deep else 'quick_check'}({AT_MOST})"):
        if row[0] != "ok" and not _is_untrue(db, row[0]):
            problems.append(f"integrity: {row[0]}")
            tell(Problem(problems[-1]))
    if problems:
        return StoreReport(tuple(problems), {}, (*BEYOND_PAGES, *(CONTENT[:1] if deep else CONTENT)))
    for finding in _looked_through(db, deep=deep):
        tell(finding)
        if isinstance(finding, Problem):
            problems.append(finding.said)
    return StoreReport(tuple(problems), dict(counts(db)), () if deep else CONTENT)


def _legible(text: bytes) -> str:
    """The text of a file that may be damaged."""
    return text.decode("utf-8", "replace")


def _looked_through(db: Db, *, deep: bool) -> Iterator[Found]:
    """Yields what is looked at and what is wrong there, part by part."""
    yield Looking("references")
    for table, row, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield Problem(f"reference: {table} row {row} refers to a missing {parent}")
    yield Looking("schema")
    yield from map(Problem, _schema_problems(db))
    yield from map(Problem, _numbering_problems(db))
    for number, (problem, sql) in enumerate(RULES, 1):
        yield Looking(f"rules {number}/{len(RULES)}")
        yield from (Problem(problem.format(row[0])) for row in db.execute(f"{sql} LIMIT {AT_MOST}"))
    yield from map(Problem, _blank_rationales(db))
    yield Looking("known secrets")
    yield from map(Problem, leaks(db))
    last, number = db.execute("SELECT coalesce(max(seq), 0), count(*) FROM event").fetchone()
    if last != number:
        yield Problem(f"events: {number} rows, but the last has number {last}: {last - number} are missing")
    if deep:
        yield from _digest_problems(db)


def _digest_problems(db: Db) -> Iterator[Found]:
    row_digests.can_digest(db)
    for source in row_digests.sources(db):
        yield Looking(f"rows of {source.table}")
        yield from map(Problem, row_digests.damage(db, source, most=AT_MOST))
    yield from map(Problem, row_digests.strays(db))


def _numbering_problems(db: Db) -> Iterator[str]:
    """A number that was set back would be given twice; one that ran ahead says that rows were taken away."""
    given: dict[str, int] = dict(db.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    numbered = db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
    ).fetchall()
    for (table,) in numbered:
        last: int = db.execute(f"SELECT coalesce(max(seq), 0) FROM {table}").fetchone()[0]
        if given.pop(table, 0) != last:
            yield f"numbers: {table} does not continue from its last row, {last}"
    yield from (f"numbers: there is no table {name}" for name in given)


def _schema_problems(db: Db) -> list[str]:
    """The tables and the triggers that hold the rules must all be there, word for word, and nothing else."""
    wanted, there = _wanted_schema(), _schema(db)
    altered = [
        f"schema: the {kind} {name} is {'missing' if (kind, name) not in there else 'different from the expected definition'}"
        for (kind, name), sql in sorted(wanted.items())
        if there.get((kind, name)) != sql
    ]
    return [
        *altered,
        *(f"schema: the {kind} {name} is unexpected" for kind, name in sorted(there.keys() - wanted.keys())),
    ]


@cache
def _wanted_schema() -> dict[tuple[str, str], str]:
    with closing(sqlite.connect(":memory:", isolation_level=None)) as fresh:
        for _, script in migrations():
            for statement in statements(script):
                fresh.execute(statement)
        return _schema(fresh)


def _schema(db: Db) -> dict[tuple[str, str], str]:
    rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
    return {(kind, name): sql for kind, name, sql in rows}


def _blank_rationales(db: Db) -> list[str]:
    """A rationale without one plain letter, digit or sign is looked at in code, which knows what shows nothing."""
    rows = db.execute("SELECT id, rationale FROM eval_judgment WHERE rationale NOT GLOB '*[!-~]*'")
    return [f"HR4: the judgment {ident} has no rationale" for ident, rationale in rows if is_blank(rationale)][:AT_MOST]
