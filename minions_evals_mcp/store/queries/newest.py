"""The newest run."""

from __future__ import annotations

from minions_evals_mcp.store.connection import Db

_OF_KIND = {
    "benchmark": "SELECT benchmark_id FROM benchmark_run ORDER BY seq DESC LIMIT 1",
    "test-case": "SELECT test_case_id FROM test_run ORDER BY seq DESC LIMIT 1",
}


def newest_subject(db: Db, kind: str) -> str | None:
    """The benchmark or test case that ran last; None of other types, and where none ran."""
    row = db.execute(_OF_KIND[kind]).fetchone() if kind in _OF_KIND else None
    return None if row is None else row[0]
