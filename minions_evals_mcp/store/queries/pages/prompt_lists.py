"""Prompts as a page lists them: their newest versions, what was decided on them, how they were last measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Approval
from minions_evals_mcp.domain.values import from_millis
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import record_of, select, table_of


def newest_versions(db: Db, *, limit: int) -> list[str]:
    """The ids of the versions that came last."""
    rows = db.execute(
        "SELECT id FROM minion WHERE type = 'prompt-version' AND deleted_at IS NULL ORDER BY seq DESC LIMIT ?", (limit,)
    )
    return [row[0] for row in rows]


def decisions(db: Db, versions: Sequence[str]) -> list[Record[Approval]]:
    """Returns what was decided on those versions, the newest first."""
    table = table_of(Approval)
    rows = db.execute(
        select(table, "prompt_version_ref IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"),
        (json.dumps(list(versions)),),
    )
    return [record_of(table, row) for row in rows]


@dataclass(frozen=True, slots=True)
class VersionRun:
    """The newest run of a version on one benchmark."""

    version: str
    benchmark: str
    run_id: str
    at: datetime
    score: float
    passed: int
    total: int


def measured(db: Db, versions: Sequence[str]) -> list[VersionRun]:
    """Returns how each of those versions came out when it was last measured, on each benchmark."""
    rows = db.execute(
        "SELECT b.prompt_version_ref, coalesce(m.title, b.benchmark_id), b.id, b.ran_at, b.overall_score, b.passed_count, b.total_count"
        " FROM (SELECT *, row_number() OVER (PARTITION BY prompt_version_ref, benchmark_id ORDER BY ran_at DESC, seq DESC) AS nth"
        " FROM benchmark_run WHERE prompt_version_ref IN (SELECT value FROM json_each(?))) b"
        " LEFT JOIN minion m ON m.id = b.benchmark_id WHERE b.nth = 1 ORDER BY b.ran_at DESC",
        (json.dumps(list(versions)),),
    )
    return [
        VersionRun(version, benchmark, run_id, from_millis(at), score, passed, total)
        for version, benchmark, run_id, at, score, passed, total in rows
    ]
