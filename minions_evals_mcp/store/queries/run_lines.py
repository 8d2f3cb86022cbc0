"""Runs in one line each, the newest first: what they came to, of which version and target, and what they cost."""

from __future__ import annotations

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import AT_MOST, Db
from minions_evals_mcp.store.jobs import Job, jobs
from minions_evals_mcp.store.queries.config_labels import target_label


@frozen_type
class RunLine:
    """A run with its figures; None where there is none yet. `score` is 0 to 1, `cost_usd` what the run itself spent."""

    job: Job
    score: float | None
    passed_count: int | None
    total_count: int | None
    version: str | None
    target: str | None
    cost_usd: float | None
    passed: bool | None = None
    """Whether a benchmark-run reached its threshold."""

    is_regression: bool | None = None


_FIGURES = (
    "SELECT u.job_id, coalesce(max(b.overall_score), min(1.0, total(r.total_score) / nullif(total(r.max_possible_score), 0))),"
    " total(r.passed), count(r.id), iif(count(DISTINCT r.prompt_version_ref) = 1, max(r.prompt_version_ref), NULL),"
    " max(json_extract(b.rest, '$.passed')), max(b.is_regression)"
    " FROM unit u JOIN test_run r ON r.id = u.test_run_id LEFT JOIN benchmark_run b ON b.id = u.job_id WHERE u.job_id = ?"
)


def run_lines(db: Db, *, limit: int, skip: int = 0, with_traces: bool = True) -> list[RunLine]:
    """So many runs, newest first; the newest `skip` are passed over. Those that judge production traces only `with_traces`."""
    return [_line(db, job) for job in jobs(db, limit=limit, skip=skip, with_traces=with_traces)]


def _line(db: Db, job: Job) -> RunLine:
    _, score, passed, total, version, reached, fell = db.execute(_FIGURES, (job.id,)).fetchone()
    request = job.spec.get("request")
    request_wire = request if isinstance(request, dict) else {}
    return RunLine(
        job,
        score if total else None,
        int(passed) if total else None,
        total or None,
        version or (ref if isinstance(ref := request_wire.get("promptVersionRef"), str) else None),
        target_label(db, job),
        job.spent.get("costUsd"),
        None if reached is None else bool(reached),
        None if fell is None else bool(fell),
    )


def ids_beginning(db: Db, text: str) -> list[str]:
    """Up to two runs whose ids begin with the text."""
    rows = db.execute(
        f"SELECT id FROM job WHERE substr(id, 1, ?) = ? ORDER BY created_at DESC {AT_MOST}", (len(text), text, 2)
    )
    return [row[0] for row in rows]
