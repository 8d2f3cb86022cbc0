"""A/B tests: branches of one test case side by side, ranked by a criterion, repeated as often as asked for."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import product

import anyio

from minions_evals_mcp.engine.ab_test.execution import AbRun, execute, prepare
from minions_evals_mcp.engine.ab_test.plan import AbTestPlan, planned, request_of
from minions_evals_mcp.engine.ab_test.request import AbTestRequest, InlineBranch
from minions_evals_mcp.engine.ab_test.results import AbBranch, AbTestResult, ab_test_result
from minions_evals_mcp.engine.asking_again import how_to_resume, resume_step
from minions_evals_mcp.engine.budget import Budget, HaltedError
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, set_state, working_on
from minions_evals_mcp.engine.run.pipeline import Progress, Switch
from minions_evals_mcp.engine.run.run_benchmark import Started, silent
from minions_evals_mcp.errors import ConflictError, StoppedError, ungrouped
from minions_evals_mcp.models.registry import ModelRef
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.store import branches, jobs
from minions_evals_mcp.store.jobs import Job

__all__ = [
    "AbBranch",
    "AbTestRequest",
    "AbTestResult",
    "InlineBranch",
    "ab_test_result",
    "request_of",
    "run_ab_test",
    "start_ab_test",
]


async def run_ab_test(engine: Engine, request: AbTestRequest, *, progress: Progress = silent) -> AbTestResult:
    """The A/B test under the request's key, carried on to its end; what was run already is not paid for again.

    Raises `BadInputError` before anything runs, `StoppedError` at the cost cap; it can be resumed under its key then.
    """
    job = await (await start_ab_test(engine, request)).finish(progress)
    return await ab_test_result(engine, job.id)


async def start_ab_test(engine: Engine, request: AbTestRequest) -> Started:
    """The A/B test's job under the request's key, vetted and written down; nothing has run."""
    plan = await planned(engine, request)
    job = await _written_down(engine, request, plan)
    return Started(job, partial(_finish, engine, job, request, plan))


async def _written_down(engine: Engine, request: AbTestRequest, plan: AbTestPlan) -> Job:
    now, ident = engine.clock(), engine.new_id()
    total = len(plan.cases) * len(plan.branches) * request.iterations
    spec = plan.spec(request)
    new = Job(ident, request.key or ident, "ab-test", request.subject_id, spec, "running", "", {}, total, now, now)
    job = await engine.store.write(lambda db: jobs.start(db, new))
    names = sorted(_differing(job, new))
    if names:
        raise ConflictError(
            f"the key {job.key!r} belongs to the run {job.id}, which had another request or measurement: "
            f"{', '.join(names)} differ.",
            remedy=f"{resume_step(job)} with the same arguments. Or use another {argument('key')}.",
        )
    return job


def _differing(earlier_job: Job, new: Job) -> set[str]:
    """Returns what two jobs under one key do not have in common."""
    if earlier_job.kind != new.kind:
        return {"the kind of run"}
    differing: set[str] = set()
    for part in ("request", "measured"):
        before, now = earlier_job.spec[part], new.spec[part]
        assert isinstance(before, dict)
        assert isinstance(now, dict)
        differing |= {name for name in {*before, *now} if before.get(name) != now.get(name)}
    return differing


async def _finish(engine: Engine, job: Job, request: AbTestRequest, plan: AbTestPlan, progress: Progress) -> Job:
    if job.state == "completed":
        return job
    async with working_on(engine, job):
        job = await get_job(engine, job.id)  # another process may have ended it before the lock fell to us
        if job.state != "completed":
            await prepare(engine, plan.cases[0])
            await engine.models.ready(ModelRef(one.fields.provider, one.fields.model) for one in plan.branches)
            await _carry_on(engine, job, request, plan, progress)
        return await get_job(engine, job.id)


async def _carry_on(engine: Engine, job: Job, request: AbTestRequest, plan: AbTestPlan, progress: Progress) -> None:
    """Runs what is open, an iteration after the other; a stop leaves the job resumable."""
    switch = Switch()
    budget = Budget(request.max_cost_usd, None, switch.stop)
    budget.earlier_usd = job.spent.get("costUsd", 0.0)
    size = len(plan.branches)
    runs = [AbRun(engine, job, case, budget, number * size) for number, case in enumerate(plan.cases)]
    await set_state(engine, job, "running")
    reason = "interrupted"
    try:
        for iteration, number in product(range(1, request.iterations + 1), range(len(runs))):
            await _iterate(runs[number], iteration, progress, turn=number + iteration - 1)
            if switch.is_off:
                break
        reason = switch.reason
    finally:
        if reason:
            await set_state(engine, job, "stopped", reason=reason)
    if switch.is_off:
        raise StoppedError(
            f"the A/B test {job.id} stopped: {switch.reason}.",
            remedy=how_to_resume(job, switch.reason, request.max_cost_usd),
        )
    await set_state(engine, job, "completed")


async def _iterate(run: AbRun, iteration: int, progress: Progress, *, turn: int) -> None:
    """Runs the branches that this iteration of the case lacks, all at once, started from another one at each turn."""
    size = len(run.plan.branches)
    ids = {run.key(position, iteration).run_id: position for position in rotated(size, turn)}
    made = await run.engine.store.read(lambda db: branches.executions(db, ids))
    with ungrouped():
        async with anyio.create_task_group() as tasks:
            for ident, position in ids.items():
                if ident not in made:
                    tasks.start_soon(_execute, run, position, iteration, progress)


def rotated(size: int, turn: int) -> list[int]:
    """The places of the branches, started at a later one at each turn: so place decides nothing."""
    return [(place + turn) % size for place in range(size)]


async def _execute(run: AbRun, position: int, iteration: int, progress: Progress) -> None:
    with suppress(HaltedError):  # the switch says why; what the other branches pay for is kept
        await progress(await execute(run, position, iteration))
