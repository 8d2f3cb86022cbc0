"""The frame around a run's table of cases: how many have ended, and by what they can be chosen."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.report_data import find_subject
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import kept_job
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import JobState
from minions_evals_mcp.store.queries.pages import run_cases
from minions_evals_mcp.store.rows import WHOLE


class RunOutline(Value):
    """A run without its figures. `ended` counts units; `before` is the run of the same benchmark before it."""

    run_id: str
    state: JobState
    ended: int
    failure_types: tuple[str, ...]
    tags: tuple[str, ...]
    before: str | None


async def read_run_outline(engine: Engine, ident: str, *, tags: int) -> RunOutline:
    """The run under that id or key, with at most so many of its cases' tags; raises as `find_subject` does."""
    subject = await find_subject(engine, ident)
    return await engine.store.read(partial(_outline, run_id=subject.run_id, tags=tags))


async def run_state(engine: Engine, ident: str) -> JobState:
    """The state of the run under that id or key; raises as `find_subject` does."""
    subject = await find_subject(engine, ident)
    return (await engine.store.read(partial(kept_job, run_id=subject.run_id))).state


def _outline(db: Db, *, run_id: str, tags: int) -> RunOutline:
    job = kept_job(db, run_id)
    previous = _before(db, job) if job.kind == "benchmark" else None
    return RunOutline(
        run_id=job.id,
        state=job.state,
        ended=sum(jobs.unit_counts(db, job.id).values()),
        failure_types=tuple(runs.failure_types(db, job.id)),
        tags=tuple(run_cases.run_tags(db, job.id, limit=tags)),
        before=previous,
    )


def _before(db: Db, job: jobs.Job) -> str | None:
    """The run that the run is compared with; of one that is not concluded the newest."""
    return runs.run_before(db, run_id=job.id) or run_cases.beside(db, job.id, job.subject_id, whole=WHOLE)[0]
