"""The causes of a run's failures: groups with their cases, since when, what they cost, and what to do next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.values import Value, short_id
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import find_job
from minions_evals_mcp.scoring.failure_causes import CauseGroup, cause_sentence
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import failure_causes
from minions_evals_mcp.store.queries.failure_causes import Causes, KeptCause

MOST_NEW = 100_000


class CauseCase(Value):
    """One case of a cause, by the test-run in which it failed worst; `isNew` where it passed in the run before."""

    test_case_id: str
    test_run_id: str
    title: str
    is_new: bool = False


class Cause(Value):
    """Failures of a run that go back to the same cause.

    `cases` and `new` count cases: `new` those that passed in the run before, None where there is none. `firstRunId` and
    `firstVersion` say since when the benchmark has the cause, `cameBack` how often it was gone and came again;
    `shareOfLoss` (0–1) is of all that the run's failures lost.
    """

    cause_key: str
    summary: str
    title: str
    failure_type: FailureType
    cases: int
    new: int | None
    share_of_loss: float
    first_run_id: str
    first_version: str
    came_back: int
    suggestion: str
    affected: tuple[CauseCase, ...]


async def causes_by_run(engine: Engine, run_ids: Sequence[str]) -> dict[str, tuple[Cause, ...]]:
    """The causes of each of those runs."""
    return await engine.store.read(lambda db: {ident: _of_ident(db, ident) for ident in run_ids})


async def read_causes(engine: Engine, ident: str) -> tuple[Cause, ...]:
    """The causes of the run under that id or key; none where it is no run, but one test-run."""
    return await engine.store.read(lambda db: _of_ident(db, ident))


def _of_ident(db: Db, ident: str) -> tuple[Cause, ...]:
    job = find_job(db, ident)
    return () if job is None else causes_of(db, job)


def causes_of(db: Db, job: Job) -> tuple[Cause, ...]:
    """The causes of a run's failures: those with the most new failures first, then those with the most cases."""
    if job.kind != "benchmark":
        causes = failure_causes.causes_of_test_runs(db, runs.failed_ids(db, job.id))
        causes_by_key = failure_causes.causes_of_case(db, job.subject_id) if causes.groups else {}
        return _causes(causes, job.id, causes_by_key, _version_names(db, causes_by_key), None)
    run = runs.benchmark_run(db, job.id)
    if run is not None and run.fields.passed_count == run.fields.total_count:
        return ()
    new = _newly_failing(db, job.id)
    causes_by_key = failure_causes.kept_causes(db, job.subject_id)
    causes = failure_causes.causes_of_run(db, job.id, new or ())
    return _causes(causes, job.id, causes_by_key, _version_names(db, causes_by_key), new)


def _version_names(db: Db, causes_by_key: Mapping[str, KeptCause]) -> dict[str, str]:
    return version_names(db, {cause.first_version for cause in causes_by_key.values() if cause.first_version})


def _newly_failing(db: Db, run_id: str) -> frozenset[str] | None:
    """The cases that passed in the run before; None where there is none, or the run is not concluded."""
    from minions_evals_mcp.store.queries import shared_cases  # noqa: PLC0415  as above

    previous = runs.run_before(db, run_id=run_id)
    if previous is None:
        return None
    return frozenset(failure.case_id for failure in shared_cases.newly_failing(db, previous, run_id, limit=MOST_NEW))


def _causes(
    causes: Causes,
    run_id: str,
    by_key: Mapping[str, KeptCause],
    names: Mapping[str, str],
    new: Collection[str] | None,
) -> tuple[Cause, ...]:
    named_causes = [_cause(group, run_id, by_key.get(group.key), names, new, causes) for group in causes.groups]
    return tuple(
        sorted(named_causes, key=lambda cause: (-(cause.new or 0), -cause.cases, -cause.share_of_loss, cause.cause_key))
    )


def _cause(
    group: CauseGroup,
    run_id: str,
    kept_cause: KeptCause | None,
    names: Mapping[str, str],
    new: Collection[str] | None,
    among: Causes,
) -> Cause:
    version = "" if kept_cause is None else named(names, kept_cause.first_version or None)
    first = run_id if kept_cause is None else kept_cause.first_run_id
    came_back = 0 if kept_cause is None else kept_cause.came_back
    count, total = (group.new, among.new) if group.new else (group.cases, among.cases)
    is_first = first == run_id and new is None  # of the first run of all everything is seen first with it
    since = "" if is_first else version or ("" if first == run_id else f"run {short_id(first)}")
    return Cause(
        cause_key=group.key,
        summary=cause_sentence(
            group,
            count,
            total,
            since=since,
            came_back=came_back,
            older=group.cases - count if group.new else None,
        ),
        title=group.title,
        failure_type=group.failure_type,
        cases=group.cases,
        new=None if new is None else group.new,
        share_of_loss=round(group.share, 4),
        first_run_id=first,
        first_version=version,
        came_back=came_back,
        suggestion=group.suggestion,
        affected=tuple(_affected(group, new or ())),
    )


def _affected(group: CauseGroup, new: Collection[str]) -> Iterator[CauseCase]:
    for example in sorted(group.examples, key=lambda example: example.test_case_id not in new):
        yield CauseCase(
            test_case_id=example.test_case_id,
            test_run_id=example.test_run_id,
            title=example.title,
            is_new=example.test_case_id in new,
        )
