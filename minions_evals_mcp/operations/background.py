"""The state of runs that a server carries out in the background: what it has begun, what it stops and what it takes up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.engine.jobs import get_job, set_state, working_on
from minions_evals_mcp.engine.run import run_benchmark
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.jobs import Job as StoredJob
from minions_evals_mcp.store.queries import server_runs

Job: TypeAlias = StoredJob
Started: TypeAlias = run_benchmark.Started


async def note_begun(engine: Engine, job: Job, *, max_cost_usd: float | None) -> None:
    """Records that this server carries the run out, under that cap."""
    at = engine.clock()
    await engine.store.write(partial(server_runs.record, job_id=job.id, max_cost_usd=max_cost_usd, at=at))


async def note_stopped(engine: Engine, job: Job, reason: str) -> None:
    """Records that the run was stopped, and why; its key resumes it."""
    await set_state(engine, job, "stopped", reason=reason)


async def stop_elsewhere(engine: Engine, job: Job, reason: str) -> None:
    """Stops a run that nobody works on; raises `BusyError` where another process does."""
    if job.state in {"running", "awaiting-judgments"}:
        async with working_on(engine, job):
            await set_state(engine, job, "stopped", reason=reason)


async def now(engine: Engine, run_id: str) -> Job:
    """The job as it is stored now."""
    return await get_job(engine, run_id)


async def outcomes(engine: Engine, job: Job) -> Mapping[Outcome, int]:
    """The units that have ended, by outcome."""
    return await engine.store.read(partial(jobs.unit_counts, job_id=job.id))


async def left_open(engine: Engine, closed: str) -> Sequence[tuple[Job, float | None]]:
    """The runs that a server had begun and could not end, each with its cap; `closed` is the reason of such a stop."""
    return await engine.store.read(partial(server_runs.left_open, closed=closed))
