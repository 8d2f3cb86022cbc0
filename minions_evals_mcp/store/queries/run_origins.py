"""Where the outputs of a benchmark-run come from."""

from __future__ import annotations

from dataclasses import dataclass

from minions_evals_mcp.store.connection import Db


@dataclass(frozen=True, slots=True)
class Origin:
    """The version that outputs were made with, and the digest of the target that made them; None for recorded ones."""

    version: str | None
    target: str | None


def origins(db: Db, run_id: str) -> list[Origin]:
    """The distinct origins of the run's outputs."""
    rows = db.execute(
        "SELECT DISTINCT prompt_version_ref, json_extract(rest, '$.digests.target') FROM test_run WHERE benchmark_run_id = ?",
        (run_id,),
    )
    return [Origin(*row) for row in rows]


def target_name(db: Db, run_id: str) -> str | None:
    """The target that the run was asked for."""
    row = db.execute("SELECT json_extract(spec, '$.request.target') FROM job WHERE id = ?", (run_id,)).fetchone()
    return None if row is None else row[0]
