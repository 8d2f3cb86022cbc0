"""The causes of a run's failures, beside the causes of the runs before: kept in the transaction of the run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.engine.outbox import queue, task
from minions_evals_mcp.scoring.failure_causes import CauseGroup, cause_sentence
from minions_evals_mcp.store.benchmarks import BenchmarkHead
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries import failure_causes
from minions_evals_mcp.store.queries.failure_causes import KeptCause

NAMED_CAUSES = 5
"""So many causes are told of a regression."""


def record_causes(db: Db, run: Record[BenchmarkRun], benchmark: BenchmarkHead, *, at: datetime) -> None:
    """Keeps which causes the benchmark has now: new ones, those seen again, those that are gone; tells of one that came back."""
    groups = {group.key: group for group in failure_causes.causes_of_run(db, run.id).groups}
    causes_by_key = failure_causes.kept_causes(db, benchmark.id)
    version = run.fields.prompt_version_ref or ""
    for key, group in groups.items():
        if key not in causes_by_key:
            failure_causes.keep_new(db, benchmark.id, KeptCause(key, group.title, run.id, version, at, run.id, None, 0))
            continue
        failure_causes.seen_again(db, benchmark.id, key=key, title=group.title, run_id=run.id, at=at)
        if causes_by_key[key].gone_run_id is not None:
            _tell_back(db, run, benchmark, group, causes_by_key[key], at=at)
    failure_causes.gone(db, benchmark.id, [key for key in causes_by_key if key not in groups], run_id=run.id)


def _tell_back(
    db: Db,
    run: Record[BenchmarkRun],
    benchmark: BenchmarkHead,
    group: CauseGroup,
    before: KeptCause,
    *,
    at: datetime,
) -> None:
    """A cause that was gone is open again: an event, and a task."""
    times = before.came_back + 1
    detail: Json = {"benchmarkId": benchmark.id, "causeKey": group.key, "title": group.title, "cameBack": times}
    append(db, Event("failure-cause-came-back", "benchmark-run", run.id, detail), at=at)
    message = (
        f"{group.cases} {'case' if group.cases == 1 else 'cases'} of {run.id}: {group.title}. It was gone in {before.gone_run_id} and first"
        f" seen in {before.first_run_id}. {group.suggestion}"
    )
    title = f"{benchmark.title}: a cause of failures came back"
    to_do = task(title, message, priority="high", about=run.id, owner=benchmark.owner_id, at=at)
    queue(db, f"{run.id}:back:{group.key}", to_do, key=f"cause-came-back:{benchmark.id}:{group.key}:{times}", at=at)


def causes_of_a_fall(db: Db, benchmark_id: str, failing: Sequence[str]) -> list[Json]:
    """Returns what those newly failing test-runs go back to, as it is told: the cause with the most cases first."""
    causes = failure_causes.causes_of_test_runs(db, failing)
    causes_by_key = failure_causes.kept_causes(db, benchmark_id)
    return [_wire(group, causes_by_key.get(group.key), causes.cases) for group in causes.groups[:NAMED_CAUSES]]


def _wire(group: CauseGroup, kept_cause: KeptCause | None, total: int) -> Json:
    since = "" if kept_cause is None else kept_cause.first_version or kept_cause.first_run_id
    back = 0 if kept_cause is None else kept_cause.came_back
    return {
        "summary": cause_sentence(group, group.cases, total, older=0, since=since, came_back=back),
        "causeKey": group.key,
        "failureType": group.failure_type,
        "testCaseIds": [example.test_case_id for example in group.examples],
        "shareOfLoss": round(group.share, 3),
        "firstRunId": None if kept_cause is None else kept_cause.first_run_id,
        "suggestion": group.suggestion,
    }
