"""The veil: a connection that reads the store as doors may see it while something is sealed.

Every door reads through `Store.read`, and so through the temporary views made here, which stand before the tables under the
tables' own names: no query of a door can get round them, nor need it know of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from minions_evals_mcp.domain.seals import REDACTIONS, Redaction
from minions_evals_mcp.store.connection import Connection, Db, open_raw
from minions_evals_mcp.store.seals import sealed_outputs

_STANDING = "main.sealed_case WHERE ended_at IS NULL"
_NAMES = {
    "veiled_benchmark": "SELECT benchmark_id AS id FROM main.seal WHERE ended_at IS NULL",
    "veiled_case": f"SELECT case_id AS id FROM {_STANDING}",
    "veiled_run": "SELECT r.run_id AS id FROM main.sealed_run r JOIN main.seal s ON s.seq = r.seal_seq WHERE s.ended_at IS NULL",
    "veiled_test_run": f"SELECT id FROM main.test_run WHERE test_case_id IN (SELECT case_id FROM {_STANDING})",
    "veiled_output": sealed_outputs,
}


def is_anything_sealed(db: Db) -> bool:
    """Returns whether a seal stands."""
    return db.execute("SELECT 1 FROM main.seal WHERE ended_at IS NULL LIMIT 1").fetchone() is not None


def connect_veiled(path: Path) -> Connection:
    """An unopened connection that sees what doors may see; await it to open."""
    return Connection(lambda: _veiled(open_raw(path, read_only=True)), 64)


def _veiled(db: Db) -> Db:
    db.execute("PRAGMA query_only = OFF")  # it forbids the views too; the file itself is open for reading only
    for statement in statements(db):
        db.execute(statement)
    db.execute("PRAGMA query_only = ON")
    return db


def statements(db: Db) -> Iterator[str]:
    """Yields what makes the veil on a connection: the names of what is sealed, and a view before each table that tells of it."""
    for name, query in _NAMES.items():
        yield f"CREATE TEMP VIEW {name} AS {query}"
    for table, redaction in REDACTIONS.items():
        yield _view(db, table, redaction)


def _view(db: Db, table: str, redaction: Redaction) -> str:
    columns = [row[1] for row in db.execute(f"PRAGMA main.table_info({table})")]
    shown = [f"{redaction.replaces.get(column, column)} AS {column}" for column in columns]
    return f"CREATE TEMP VIEW {table} AS SELECT {', '.join(shown)} FROM main.{table} WHERE coalesce(NOT ({redaction.leaves_out}), 1)"
