"""The skill "run a benchmark": every active case is run, judged and kept; the whole is concluded in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import anyio

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.asking_again import how_to_resume, resume_step, what_helps
from minions_evals_mcp.engine.audit_standing.standing import vet_audited
from minions_evals_mcp.engine.budget import Budget
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.embedders import vet_embedder
from minions_evals_mcp.engine.jobs import get_job, set_state, start_job, working_on
from minions_evals_mcp.engine.judge.judging import Judging
from minions_evals_mcp.engine.near_ids import near_ids
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.conclusion import ended
from minions_evals_mcp.engine.run.pipeline import Health, Place, Progress, Switch, here, run_units
from minions_evals_mcp.engine.run.tally import Tally
from minions_evals_mcp.engine.run.unit_pages import open_units
from minions_evals_mcp.engine.run.units import Bench
from minions_evals_mcp.engine.seals.guard import hushed, vet_whole
from minions_evals_mcp.errors import (
    BadInputError,
    EvalsError,
    InstrumentError,
    NotFoundError,
    SealedError,
    StoppedError,
)
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.stats.sequential import case_order
from minions_evals_mcp.store import jobs, records, seals
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.seals import Seal
from minions_evals_mcp.targets.live import Target

OpenTarget = Callable[[Budget], Target]
"""Opens a target whose calls are taken out of the budget."""
NAMED = 5
"""So many cases are named in an error."""
PASSES = 2
"""How often the units that end in an instrument's error are tried in one go."""


async def silent(outcome: Outcome) -> None:
    """No progress is shown."""
    del outcome


async def run_benchmark(
    engine: Engine, request: RunRequest, *, progress: Progress = silent, place: Place = here
) -> Job:
    """The run of a benchmark under the request's key, carried on to its end or to what it waits for.

    Raises `BadInputError` before anything runs, `StoppedError` at a cap, `InstrumentError` where nothing could be judged;
    the run can be resumed under its key after each of them.
    """
    return await (await start_benchmark(engine, request, place=place)).finish(progress)


async def start_benchmark(
    engine: Engine, request: RunRequest, *, target: OpenTarget | None = None, place: Place = here
) -> StartedCases:
    """The benchmark's job under the request's key, vetted and written down; nothing has run.

    `target` opens the target where the request's name alone does not say how; `place` is where the units are carried out.
    """
    case_ids = await _cases(engine, request)
    ordered = case_ids if request.order_seed is None else case_order(case_ids, request.order_seed)
    return await start_cases(engine, request, ordered, kind="benchmark", target=target, place=place)


async def vet_benchmark(engine: Engine, request: RunRequest) -> None:
    """Raises what starting that run would, as one side of a comparison; nothing is written down."""
    case_ids = await _cases(engine, request)
    seal = await engine.store.read_whole(lambda db: vet_whole(db, request, case_ids, kind="benchmark", dry=True))
    with hushed(seal):
        await _planned(engine, request, case_ids, kind="benchmark", opening=None, sealed=seal is not None)


async def _cases(engine: Engine, request: RunRequest) -> Sequence[str]:
    benchmark = await get_benchmark(engine, request.subject_id)
    if engine.skills.run_benchmark.parameters.require_audit:
        await engine.store.read_whole(partial(vet_audited, benchmark_id=benchmark.id))
    return chosen_cases(benchmark, request)


def chosen_cases(benchmark: Record[Benchmark], request: RunRequest) -> Sequence[str]:
    """The cases that are run: those that the request names, else all of the benchmark's; raises `BadInputError` for others."""
    named, known = request.case_ids, benchmark.fields.test_case_ids
    strangers = set(named or ()) - set(known)
    if strangers:
        raise NotFoundError(
            f"test case of the benchmark {benchmark.id}", min(strangers), near=near_ids(min(strangers), known)
        )
    return known if named is None else named


async def get_benchmark(engine: Engine, ident: str) -> Record[Benchmark]:
    """The active benchmark under that id; raises `NotFoundError`, or `BadInputError` for a retired one."""
    benchmark = await engine.store.read(lambda db: records.require(db, ident, Benchmark, hidden=False))
    if benchmark.fields.status == "retired":
        raise BadInputError(f"the benchmark {ident} is retired.", remedy="Set its status to active to run it.")
    return benchmark


@frozen_type
class _Run:
    """A job with all that it takes to carry it on."""

    job: Job
    plan: planning.RunPlan
    bench: Bench
    switch: Switch
    place: Place = here


@frozen_type
class Started:
    """A job that is written down; `finish` carries it on to its end, or to what it waits for."""

    job: Job
    finish: Callable[[Progress], Awaitable[Job]]


@frozen_type
class StartedCases(Started):
    """The job of some cases, which need not run to its end: `advance` carries on the first, `settle` ends it and says why."""

    advance: Callable[[int, Progress], Awaitable[None]]
    settle: Callable[[str], Awaitable[Job]]


async def start_cases(
    engine: Engine,
    request: RunRequest,
    case_ids: Sequence[str],
    *,
    kind: Literal["test-case", "benchmark"],
    target: OpenTarget | None = None,
    place: Place = here,
) -> StartedCases:
    """The job that runs those cases under the request's key: vetted, nothing has run."""
    seal = await engine.store.read_whole(lambda db: vet_whole(db, request, case_ids, kind=kind))
    with hushed(seal):
        run = await _prepared(engine, request, case_ids, seal=seal, kind=kind, opening=target)
    run = replace(run, place=place)
    return StartedCases(run.job, partial(_finish, run), partial(_advance, run), partial(_settle, run))


async def _finish(run: _Run, progress: Progress) -> Job:
    engine = run.bench.engine
    if run.job.state == "completed":
        return run.job
    async with working_on(engine, run.job):
        job = await get_job(engine, run.job.id)  # another process may have ended it before the lock fell to us
        if job.state == "completed":
            return job
        run = replace(run, job=job)  # with what it has spent by now
        await _carry_on(run, progress)
        return await ended(run.bench, run.job)


async def _advance(run: _Run, cases: int, progress: Progress) -> None:
    async with working_on(run.bench.engine, run.job):
        await _carry_on(run, progress, cases=cases)


async def _settle(run: _Run, reason: str) -> Job:
    engine = run.bench.engine
    async with working_on(engine, run.job):
        await engine.store.write(partial(jobs.skip_open, job_id=run.job.id, case_ids=run.plan.case_ids, reason=reason))
        return await ended(run.bench, run.job)


@frozen_type
class _Planned:
    """A run that was vetted, and of which nothing is written down; the request is resolved."""

    request: RunRequest
    judging: Judging
    plan: planning.RunPlan
    target: Target | None
    budget: Budget
    switch: Switch


async def _planned(
    engine: Engine,
    request: RunRequest,
    case_ids: Sequence[str],
    *,
    kind: Literal["test-case", "benchmark"],
    opening: OpenTarget | None,
    sealed: bool,
) -> _Planned:
    switch = Switch()
    budget = Budget(request.max_cost_usd, request.max_seconds, switch.stop)
    switch.look = budget.look_at_clock  # a target that is no model's is not metered
    vet_embedder(engine.config.embedder)
    request = await planning.resolved(engine, request, case_ids)
    judging = planning.judge_for(engine, request, budget, model=engine.judge_model(), sealed=sealed)
    plan = await planning.plan(engine, request, case_ids, judging)
    target = opening(budget) if opening else planning.target_for(engine, request, plan.versions, budget)
    plan = plan.aimed(target)
    await planning.vet_prompts(engine, request, plan, target, sealed=sealed)
    if not plan.case_ids:
        raise BadInputError(
            f"{request.subject_id} has no active test case.", remedy=f"Skipped: {', '.join(plan.skipped)}."
        )
    if kind == "benchmark":
        _vet_measured(request, plan)
    return _Planned(request, judging, plan, target, budget, switch)


async def _prepared(
    engine: Engine,
    original_request: RunRequest,
    case_ids: Sequence[str],
    *,
    seal: Seal | None,
    kind: Literal["test-case", "benchmark"],
    opening: OpenTarget | None,
) -> _Run:
    sealed = seal is not None
    planned = await _planned(engine, original_request, case_ids, kind=kind, opening=opening, sealed=sealed)
    request, plan = planned.request, planned.plan
    total = len(plan.case_ids) * request.trials
    spec = plan.spec(request, version_name=original_request.prompt_version_ref)
    if seal is not None and planned.target is None and request.rejudge_run_id is None:
        await _vet_outputs(engine, request, plan, seal)
    job = await start_job(engine, request, kind=kind, total=total, spec=spec)
    if seal is not None:
        await engine.store.write(partial(seals.note_run, run_id=job.id, seal=seal))
    run_id = job.id if kind == "benchmark" else None
    frame = planning.frame_for(engine, run_id, target_digest=plan.digests.target)
    made = await planning.made_outputs(engine, request, plan.digests, sealed=sealed)
    bench = Bench(engine, request, planned.judging, planned.target, plan.versions, frame, made, seal, planned.budget)
    return _Run(job, plan, bench, planned.switch)


async def _vet_outputs(engine: Engine, request: RunRequest, plan: planning.RunPlan, seal: Seal) -> None:
    """Refuses sealed cases of which some have no recorded output, and does not say how many: an output could be a guess."""
    for at in range(0, len(plan.case_ids), planning.PAGE):
        page = plan.case_ids[at : at + planning.PAGE]
        if await engine.store.read_whole(partial(planning.lacks_outputs, request=request, plan=plan, page=page)):
            raise SealedError(
                f"{seal.benchmark_id} is sealed, and not every case has a recorded output for {request.prompt_version_ref}.",
                remedy=f"Name a {argument('target')}, or import all outputs, marked by `extra: {{sealed: true}}`.",
            )


def _vet_measured(request: RunRequest, plan: planning.RunPlan) -> None:
    """Refuses canaries alone: they are no part of the figures, so there would be none."""
    if len(plan.canaries) == len(plan.case_ids):
        named = first_named(plan.canaries, NAMED)
        raise BadInputError(
            f"{request.subject_id}: every selected case is a canary, and canaries do not count: {named}.",
            remedy="Run canaries together with test cases that an honest agent can pass.",
        )


async def _carry_on(run: _Run, progress: Progress, *, cases: int | None = None) -> None:
    """Runs what is open (of the first `cases`), and once more what the instrument failed at; a stop leaves the job resumable."""
    engine = run.bench.engine
    await set_state(engine, run.job, "running")
    run.bench.budget.take_up(run.job.spent)
    run.bench.budget.write_down = partial(_write_down, run)
    reason = "interrupted"
    counts = await engine.store.read_whole(lambda db: jobs.unit_counts(db, run.job.id))
    judged = "scored" in counts
    tally = Tally(run.job, run.bench, sum(number for outcome, number in counts.items() if outcome in planning.SETTLED))
    counted = partial(tally.add, progress=progress)
    tally.tell()
    try:
        for _ in range(PASSES):
            health = tally.health = Health(run.switch, judged)
            units = open_units(run.bench, run.job.id, run.plan.case_ids[:cases], run.plan)
            width = engine.config.concurrency
            await run_units(run.bench, units, health=health, workers=width, progress=counted, place=run.place)
            judged = health.judged
            if run.switch.is_off or not (health.counts["judge-error"] or health.counts["target-error"]):
                break
        reason = await _why_stopped(run, cases)
    except EvalsError as error:
        reason = error.message_text.rstrip(".")
        raise
    finally:
        with anyio.CancelScope(shield=True):
            await _write_down(run, run.bench.budget.break_off())
        if reason:
            await set_state(engine, run.job, "stopped", reason=reason)
    _vet_whole(run)


async def _why_stopped(run: _Run, cases: int | None) -> str:
    """The reason why the run stops; empty where it does not, as when the last output of all reached the cap."""
    if run.switch.is_off and cases is None and await _is_whole(run):
        run.switch.reason = ""
    return run.switch.reason


async def _is_whole(run: _Run) -> bool:
    """Whether every unit has ended, none in an error of the instrument."""
    counts = await run.bench.engine.store.read_whole(lambda db: jobs.unit_counts(db, run.job.id))
    whole = planning.SETTLED | {"skipped"}
    ended = sum(number for outcome, number in counts.items() if outcome in whole)
    return ended == len(run.plan.case_ids) * run.bench.request.trials


def _vet_whole(run: _Run) -> None:
    """Raises what stopped the run, if anything did."""
    if run.switch.instrument:
        raise InstrumentError(
            f"the run {run.job.id} stopped: {run.switch.reason}.",
            remedy=f"{what_helps(run.job, of_target=run.switch.of_target)} Progress is saved: {resume_step(run.job)}.",
        )
    if run.switch.is_off:
        raise StoppedError(
            f"the run {run.job.id} stopped: {run.switch.reason}.",
            remedy=how_to_resume(run.job, run.switch.reason, run.bench.request.max_cost_usd),
        )


async def _write_down(run: _Run, spent: dict[str, float]) -> None:
    await run.bench.engine.store.write(partial(jobs.add_spent, ident=run.job.id, spent=spent))
