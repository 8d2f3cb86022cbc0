"""Canaries: cases that no honest output passes. A run that passes one is marked and told, and approves nothing."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.outbox import message, queue, task
from minions_evals_mcp.store.benchmarks import BenchmarkHead
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append

NAMED = 5


def canary_note(canaries: Sequence[str]) -> str:
    """Returns what a run's notes say of the canaries that it passed."""
    return f"passed a canary, which no honest output does ({first_named(canaries, NAMED)}), and cannot be used for an approval"


def tell_canaries(db: Db, run: Record[BenchmarkRun], benchmark: BenchmarkHead) -> None:
    """Tells the orchestrator, and asks for a task, in the run's own transaction; once for each run."""
    at, passed = run.created_at, run.fields.canaries_passed
    sentence = f"{benchmark.title}: the run {run.id} {canary_note(passed)}."
    append(db, Event("canary-passed", BenchmarkRun.slug, run.id, {"canaries": [*passed]}), at=at)
    title, owner = f"Investigate {benchmark.title}: a canary was passed", benchmark.owner_id
    to_do = task(title, sentence, priority="critical", about=run.id, owner=owner, at=at)
    queue(db, f"{run.id}:canary-task", to_do, key=f"investigate-canary:{run.id}", at=at)
    payload: Json = {
        "benchmarkId": run.fields.benchmark_id, "benchmarkRunId": run.id, "canaries": [*passed], "summary": sentence,
    }  # fmt: skip
    queue(db, f"{run.id}:canary", message("canary-passed", payload, at=at), key=f"canary-passed:{run.id}", at=at)
