"""The schema as numbered files, applied once each, never edited."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from minions_evals_mcp.errors import StoreVersionError
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.connection import APPLICATION_ID, Db, sqlite


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Number and SQL of every migration, in order."""
    folder = resources.files("minions_evals_mcp.store") / "migrations"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return tuple((int(entry.name.split("_")[0]), entry.read_text("utf-8")) for entry in files)


def refuse_foreign(path: Path) -> None:
    """Raises `StoreVersionError` where an emptied file would open as a new store over the log of an old one."""
    log = path.with_name(path.name + "-wal")
    is_logged = (
        log.exists() and log.stat().st_size > 0
    )  # first: who makes the store just now fills the file, then the log
    if is_logged and path.exists() and path.stat().st_size == 0:
        raise StoreVersionError(
            f"the store {path} is empty, but {log.name} beside it is not: another program emptied the file.",
            remedy=f"Keep both files and restore the newest backup, or choose another file with {argument('db')}.",
        )


def migrate(db: Db, path: Path) -> None:
    """Brings the file to this version's schema; refuses another program's file and a newer schema."""
    version = vet_version(db, path)
    newest = migrations()[-1][0]
    if version == newest:
        return
    db.execute("PRAGMA foreign_keys = OFF")  # else a table that is made anew takes what refers to it along
    try:
        _apply(db, path, newest)
    finally:
        db.execute("PRAGMA foreign_keys = ON")


def _apply(db: Db, path: Path, newest: int) -> None:
    """Runs what is missing, all or nothing; references are checked before the end."""
    db.execute("BEGIN IMMEDIATE")
    try:
        version = vet_version(db, path)  # another process may have migrated while this one waited
        for number, script in migrations():
            if number > version:
                for statement in statements(script):
                    db.execute(statement)
        _vet_references(db, path)
        row_digests.renew(db)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {newest}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _vet_references(db: Db, path: Path) -> None:
    if db.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise StoreVersionError(f"the store {path} has broken references.", remedy="Restore a backup.")


def vet_version(db: Db, path: Path) -> int:
    """The schema version of the file; raises `StoreVersionError` where it is not ours or newer than this code.

    All that tells it is of one snapshot: another process may just be making the store.
    """
    if db.in_transaction:
        return _vetted(db, path)
    db.execute("BEGIN")
    try:
        return _vetted(db, path)
    finally:
        if db.in_transaction:  # a damaged file may have ended it
            db.execute("COMMIT")


def _vetted(db: Db, path: Path) -> int:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    is_new = application == 0 and version == 0
    if is_new and db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
        return 0
    if application != APPLICATION_ID:
        raise StoreVersionError(
            f"{path} is an SQLite file of another program.",
            remedy=f"Choose another file with {argument('db')} or MINIONS_EVALS_DB.",
        )
    newest = migrations()[-1][0]
    if version > newest:
        raise StoreVersionError(
            f"the store {path} has schema {version}; this version supports up to {newest}.",
            remedy="Upgrade: pip install -U minions-evals-mcp.",
        )
    return version


def require_store(db: Db, path: Path) -> None:
    """Raises `StoreVersionError` where a file that is only read is no store of this version."""
    version = vet_version(db, path)
    if version == 0:
        refuse_foreign(path)
        raise StoreVersionError(f"{path} is empty, not a store.", remedy="Restore a backup, or choose another file.")
    if version < migrations()[-1][0]:
        raise StoreVersionError(
            f"the store {path} has the older schema {version}.",
            remedy=f"Open it once without {argument('read_only')} to migrate it.",
        )


def statements(script: str) -> list[str]:
    """The single statements of a script; triggers hold semicolons of their own."""
    statements_read: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite.complete_statement(pending):
            statements_read.append(pending.strip())
            pending = ""
    return statements_read
