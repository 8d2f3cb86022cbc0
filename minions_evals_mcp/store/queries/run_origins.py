"""The origins of a benchmark-run's outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from minions_evals_mcp.domain.results import Digests
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db


@frozen_type
class OutputOrigin:
    """The version that outputs were made with, and the digest of the target that made them; None for recorded ones."""

    version: str | None
    target: str | None


def origins(db: Db, run_id: str) -> list[OutputOrigin]:
    """The distinct origins of the run's outputs."""
    rows = db.execute(
        "SELECT DISTINCT prompt_version_ref, iif(agent_run_id IS NULL, json_extract(rest, '$.digests.target'), NULL)"
        " FROM test_run WHERE benchmark_run_id = ?",
        (run_id,),
    )
    return [OutputOrigin(*row) for row in rows]


def target_name(db: Db, run_id: str) -> str | None:
    """The target that the run was asked for."""
    row = db.execute("SELECT json_extract(spec, '$.request.target') FROM job WHERE id = ?", (run_id,)).fetchone()
    return None if row is None else row[0]


def newest_target(db: Db, subject_id: str) -> str | None:
    """The target of the newest run of that benchmark or test case; None where its outputs are recorded."""
    row = db.execute(
        "SELECT spec ->> '$.request.target' FROM job WHERE id = coalesce("
        "(SELECT id FROM benchmark_run WHERE benchmark_id = ?1 ORDER BY seq DESC LIMIT 1),"
        " (SELECT benchmark_run_id FROM test_run WHERE test_case_id = ?1 AND benchmark_run_id IS NOT NULL ORDER BY seq DESC LIMIT 1))",
        (subject_id,),
    ).fetchone()
    return None if row is None else row[0]


@frozen_type
class Made:
    """The result of a benchmark-run, and what it was made and measured with."""

    passed: int
    total: int
    version: str | None
    target_name: str | None
    digests: Digests


def made(db: Db, run_ids: Sequence[str]) -> dict[str, Made]:
    """The same of many benchmark-runs, by id: a thousand are read faster so than as records."""
    rows = db.execute(
        "SELECT id, passed_count, total_count, prompt_version_ref, (SELECT spec ->> '$.request.target' FROM job WHERE job.id = b.id),"
        " coalesce(rest -> '$.digests', '{}') FROM benchmark_run b WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(run_ids)),),
    ).fetchall()
    digests = {text: Digests.model_validate_json(text) for text in {row[-1] for row in rows}}
    return {
        ident: Made(passed, total, version, target, digests[text])
        for ident, passed, total, version, target, text in rows
    }
