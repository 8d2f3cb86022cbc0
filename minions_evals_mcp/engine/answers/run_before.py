"""The run before a run, and what changed since: on its page and in its report."""

from __future__ import annotations

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, Evidence
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.answers.real_change import real_change
from minions_evals_mcp.engine.conclude.setup import RunSetup, changes, changes_of_shared, outputs_exchanged, setup_of
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db


class Before(Value):
    """The run before, and what is other than in it; `change` is of the score, where both were measured alike."""

    run_id: str
    at: Timestamp
    score: float
    change: float | None
    evidence: Evidence | None
    changed: tuple[str, ...]


def read_before(db: Db, run_id: str, previous: str) -> Before | None:
    """The run `previous` beside that one; None where it is not concluded."""
    then, now = runs.benchmark_run(db, previous), runs.benchmark_run(db, run_id)
    if then is None:
        return None
    fields = then.fields
    evidence = None if now is None else real_change(db, previous, run_id)
    return Before(
        run_id=previous,
        at=fields.ran_at,
        score=fields.overall_score,
        change=None if now is None or evidence is None else now.fields.overall_score - fields.overall_score,
        evidence=evidence,
        changed=() if now is None else _changed(db, then, now),
    )


def _changed(db: Db, then: Record[BenchmarkRun], now: Record[BenchmarkRun]) -> tuple[str, ...]:
    seen = changes(_setup(db, then), _setup(db, now))
    if now.fields.selection is not None:
        seen = changes_of_shared(db, then.id, now.id, seen)
    return seen or outputs_exchanged(db, then.id, now.id)


def _setup(db: Db, run: Record[BenchmarkRun]) -> RunSetup:
    """Returns what the run was made and judged with, its version by name."""
    setup = setup_of(db, run.id, run.fields)
    return setup.model_copy(update={"version": named(version_names(db, [setup.version]), setup.version) or None})
