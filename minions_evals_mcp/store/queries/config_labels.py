"""Labels of a config's columns: several providers may share an id, and differ in their settings."""

from __future__ import annotations

from typing import cast

from minions_evals_mcp.domain.request_fields import OF_A_CONFIG
from minions_evals_mcp.store import events
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job

EVALUATED = "config-evaluated"
"""The event that says which runs are the columns of a config's tests: `runIds`, `labels` and which were `before`."""
CHOSEN = "config-chosen"
"""The event that says which output each test of a config chose: `runIds` of the columns, and `rows`."""


def labels_of(db: Db, benchmark_id: str) -> list[tuple[str, str]]:
    """Run and label of each column of the newest evaluation, in order. Empty where none is noted."""
    noted = events.newest(db, EVALUATED, benchmark_id) or {}
    run_ids = cast("list[str]", noted.get("runIds") or [])
    pairs = cast("list[list[str]]", noted.get("labels") or [[run_id, ""] for run_id in run_ids])
    return [(run_id, label) for run_id, label in pairs]


def target_label(db: Db, job: Job) -> str | None:
    """The target as people know it: a column's label, else the name that the run was asked with."""
    request = job.spec.get("request")
    target = request.get("target") if isinstance(request, dict) else None
    if not isinstance(target, str):
        return None
    if not target.startswith(OF_A_CONFIG):
        return target
    label = next((label for run_id, label in labels_of(db, job.subject_id) if run_id == job.id), "")
    return f"{OF_A_CONFIG}{label}" if label else target
