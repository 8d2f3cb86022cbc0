"""Erasure: content is replaced by a tombstone in every table, and no byte of it stays in the file or its log.

Figures, verdicts, times and the fact of each record stay. The rules that rows are never changed are lifted for the one
transaction that does it, and stand again at its end.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from minions_evals_mcp.domain.outputs import tombstone_of
from minions_evals_mcp.domain.records import TYPES, fields_from_json
from minions_evals_mcp.errors import BadInputError, InvalidRecordError, StoreError
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.connection import Db, open_raw, sqlite, translated
from minions_evals_mcp.store.erasure.scope import FORGOTTEN, ErasureScope, Forgotten
from minions_evals_mcp.store.erasure.sweep import Erasure
from minions_evals_mcp.store.erasure.tombstones import Tombstone
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.migrate import require_store
from minions_evals_mcp.store.rows import TABLES, record_of, select
from minions_evals_mcp.store.sealed_content import is_encrypted
from minions_evals_mcp.store.veil import is_anything_sealed


def forget(path: Path, wanted: ErasureScope, *, at: datetime, by: str) -> Forgotten:
    """Erases what is wanted.

    Raises `NotFoundError` for a record that is not there, `BadInputError` for a text that is part of the format, `StoreError`
    where another program keeps the file's log from being emptied.
    """
    with translated(path):
        db = open_raw(path)
        try:
            require_store(db, path)
            db.execute("PRAGMA secure_delete = ON")
            db.execute("PRAGMA foreign_keys = OFF")
            changed = _erased(db, wanted, at=at, by=by)
            if changed is None:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a round before may have found the log in use
                return Forgotten()
            _leave_no_byte(db, path)
        finally:
            db.close()
    return changed


def count_erasable(path: Path, wanted: ErasureScope, *, at: datetime) -> Forgotten:
    """Counts what `forget` would erase, and changes nothing. Raises as `forget` does."""
    with translated(path):
        db = open_raw(path)
        try:
            require_store(db, path)
            db.execute("PRAGMA foreign_keys = OFF")
            db.execute("BEGIN IMMEDIATE")
            try:
                return _swept(db, wanted, at=at)[0].changed
            except sqlite.IntegrityError as error:
                raise _part_of_the_format() from error
            finally:
                db.execute("ROLLBACK")
        finally:
            db.close()


def _swept(db: Db, wanted: ErasureScope, *, at: datetime) -> tuple[Erasure, list[str]]:
    """The erasure, carried out in the open transaction without the store's rules, and the rules to put back."""
    row_digests.can_digest(db)
    erasure = Erasure(Tombstone(tombstone_of(at)))
    erasure.changed.sealed = is_anything_sealed(db)
    rules = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid").fetchall()
    for name, _ in rules:
        db.execute(f'DROP TRIGGER "{name}"')
    erasure.of(db, wanted)
    return erasure, [sql for _, sql in rules]


def _erased(db: Db, wanted: ErasureScope, *, at: datetime, by: str) -> Forgotten | None:
    """Erases in one transaction, without the rules that rows are never changed; they stand again at its end.

    None where a rule of the settings asks and nothing is too old: nothing is written then.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        erasure, rules = _swept(db, wanted, at=at)
        if wanted.retention and not erasure.touched:
            db.execute("ROLLBACK")
            return None
        _vet(db)
        for sql in rules:
            db.execute(sql)
        detail = {"by": by, **wanted.detail()}
        if not erasure.changed.sealed:
            detail["rows"] = sum(erasure.changed.rows.values())
        append(db, Event(FORGOTTEN, "store", "store", detail), at=at)
        row_digests.renew(db)
        db.execute("COMMIT")
    except BaseException as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if isinstance(error, sqlite.IntegrityError):
            raise _part_of_the_format() from error
        raise
    return erasure.changed


def _part_of_the_format() -> BadInputError:
    return BadInputError(
        "the text is also a word of the stored format, so erasing it would make records unreadable.",
        remedy="Give a longer text, such as the whole name.",
    )


def _vet(db: Db) -> None:
    """Raises where a record could not be read any more."""
    if db.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise _part_of_the_format()
    try:
        for kind, fields in db.execute("SELECT type, fields FROM minion WHERE fields LIKE '%forgotten@%'"):
            if not is_encrypted(fields):
                fields_from_json(TYPES[kind], fields)
        for table in TABLES.values():
            for row in db.execute(
                select(table, "rest LIKE '%forgotten@%'" if table.has_rest else "rationale LIKE 'forgotten@%'")
            ):
                record_of(table, row)
    except (ValidationError, InvalidRecordError, ValueError) as error:
        raise _part_of_the_format() from error


def _leave_no_byte(db: Db, path: Path) -> None:
    """Writes the file anew without what was let go, and empties its log."""
    db.execute("VACUUM")
    row = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if row is not None and row[0]:
        raise StoreError(
            f"the content is erased, but another program is reading {path.name}, so its log could not be emptied.",
            remedy="Stop the server, the agent and the page, and run the same command again.",
        )
