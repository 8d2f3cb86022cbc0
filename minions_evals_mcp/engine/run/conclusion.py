"""The end of a run: what it waits for, why it has no figures, or its benchmark-run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from minions_evals_mcp.domain.records import MADE_BY_PYTHON
from minions_evals_mcp.domain.request_fields import OF_A_CONFIG, OF_A_FUNCTION
from minions_evals_mcp.domain.results import SETTLED, UNSCORED, Outcome
from minions_evals_mcp.domain.values import one_line
from minions_evals_mcp.engine.asking_again import resume_step, what_helps
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import set_state, waiting_reason
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.units import Bench
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.next_steps import SAVE_OUTPUTS, Next, argument
from minions_evals_mcp.store import jobs, records, runs, talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, UnitRow
from minions_evals_mcp.store.queries.run_origins import newest_target


async def ended(bench: Bench, job: Job) -> Job:
    """The job at its end, or with what it waits for; raises `BadInputError` or `InstrumentError` where nothing was scored."""
    engine = bench.engine
    counts = await engine.store.read_whole(lambda db: jobs.unit_counts(db, job.id))
    if waiting := counts.get("awaiting-judgments"):
        users = await engine.store.read_whole(lambda db: talks.count_waiting(db, job.id))
        await set_state(engine, job, "awaiting-judgments", reason=waiting_reason(waiting - users, users))
    elif not counts.get("scored") and not counts.get("timed-out"):
        await _nothing_scored(engine, job)
    elif job.kind == "benchmark" and not await engine.store.read_whole(lambda db: runs.has_any(db, job.id)):
        await _nothing_scored(engine, job)  # but canaries, which are no part of the figures
    elif job.kind == "benchmark":
        await engine.store.write(partial(conclude_job, engine=engine, job=job, request=bench.request))
    else:
        await set_state(engine, job, "completed")
    return await engine.store.read_whole(lambda db: jobs.job(db, job.id)) or job


async def _nothing_scored(engine: Engine, job: Job) -> None:
    first = await engine.store.read_whole(partial(_first_unscored, job_id=job.id))
    why = _why_nothing(first)
    await set_state(engine, job, "failed", reason=why)
    if first and first[0].outcome == "skipped":
        raise BadInputError(
            f"{_no_case(job, first[0])}: {one_line(first[0].reason).rstrip('.')}.",
            # A reason that is a sentence says itself what to do.
            remedy="" if first[0].reason.endswith(".") else await _how_outputs_come(engine, job.subject_id),
        )
    raise InstrumentError(
        f"no output of {job.subject_id} could be judged; the first: {one_line(why)}.",
        remedy=_step_after(job, first[0].outcome if first else None),
    )


def _unrun(db: Db, job_id: str, number: int) -> str:
    """How many units were not run; those that a settled comparison did not need are none that could not be."""
    if not number:
        return ""
    (first,) = jobs.units_with(db, job_id, ("skipped",), limit=1)
    return f"{number} not run: {first.reason}" if first.reason.startswith(SETTLED) else f"{number} could not be run"


def _step_after(job: Job, outcome: Outcome | None) -> str:
    """What helps where nothing could be judged, by how the first unit ended."""
    match outcome:
        case "not-judgeable":
            return ""
        case "user-error":  # the run has had them as often as it may, and is not resumed
            spoiled = Next("show-conversations", {"run_id": job.id, "spoiled": True}, "shows what the users did wrong")
            return (
                f"{spoiled}. Correct the conversation or name another model under conversation.model, and run it again."
            )
        case _:
            return f"{what_helps(job, of_target=outcome == 'target-error')} {resume_step(job, 'resumes the run')}."


def _no_case(job: Job, first: UnitRow) -> str:
    """That nothing was run; a case that was run by itself is named once."""
    if first.case_id == job.subject_id:
        return f"{job.subject_id} could not be run"
    return f"no case of {job.subject_id} could be run; {first.case_id}"


async def _how_outputs_come(engine: Engine, subject_id: str) -> str:
    made_by = await engine.store.read_whole(lambda db: newest_target(db, subject_id))
    if made_by is not None and not made_by.startswith((OF_A_CONFIG, OF_A_FUNCTION)):
        return f"Its newest run used a target. Name it again: {argument('target', made_by)}. {SAVE_OUTPUTS}."
    record = await engine.store.read_whole(lambda db: records.minion(db, subject_id))
    if record is not None and record.created_by == MADE_BY_PYTHON:
        return (
            "A Python program evaluates its cases: run that program again, or name a target with"
            f" {argument('target', 'TARGET')}."
        )
    return f"{SAVE_OUTPUTS}. Or name a target with {argument('target', 'TARGET')}."


def _first_unscored(db: Db, *, job_id: str) -> Sequence[UnitRow]:
    return jobs.units_with(db, job_id, (*UNSCORED, "skipped"), limit=1)


def _why_nothing(unscored: Sequence[UnitRow]) -> str:
    """Returns why a run has no figures; canaries that were judged are no part of them."""
    return f"{unscored[0].outcome}: {unscored[0].reason}" if unscored else "nothing was run"


def conclude_job(db: Db, *, engine: Engine, job: Job, request: RunRequest) -> None:
    """Records the benchmark-run of a job whose units are all settled, and completes the job: within one transaction.

    A job of which only canaries could be judged has no figures: it failed, and approves nothing.
    """
    from minions_evals_mcp.engine.conclude.benchmark_run import conclude  # noqa: PLC0415  a single case has none
    from minions_evals_mcp.engine.conclude.comparison import conclude_comparison  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.conclude.earlier_run import Concluding  # noqa: PLC0415  as above

    at = engine.clock()
    if (
        runs.benchmark_run(db, job.id) is not None
    ):  # concluded by another meanwhile: whoever came second says no other state
        jobs.set_state(db, job.id, "completed", at=at)
        return
    if not runs.has_any(db, job.id):
        why = _why_nothing(_first_unscored(db, job_id=job.id))
        jobs.set_state(db, job.id, "failed", reason=why, at=at)
        return
    counts = jobs.unit_counts(db, job.id)
    seen = planning.digests_of(job)
    skipped = job.spec["skipped"]
    assert isinstance(skipped, list)
    about = Concluding(
        run_id=job.id,
        request=request,
        skills=engine.skills,
        digests=seen,
        judged_alike=planning.judged_alike(seen),
        series=planning.series(seen),
        skipped=tuple(str(name) for name in skipped),
        unrun=_unrun(db, job.id, counts.get("skipped", 0)),
        unscored=sum(counts.get(outcome, 0) for outcome in UNSCORED),
        at=at,
        stood_in=job.spec.get("stoodIn") is True,
    )
    conclude(db, about)
    jobs.set_state(db, job.id, "completed", at=at)
    if request.comparison_id is not None:
        tie = engine.skills.compare_prompt_versions.parameters.tie_threshold
        conclude_comparison(db, request.comparison_id, tie_threshold=tie, at=at)
