"""The trial that an optimiser requests: is this version better, on the cases that it may learn from, and on those that decide?"""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.seals import BudgetLeft, SealedVerdict
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary, summarize_comparison
from minions_evals_mcp.engine.asking_again import resume_step, resumed_as
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.compare.approve_prompt_version import barred_for_agents
from minions_evals_mcp.engine.compare.compare_prompt_versions import start_comparison
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, set_state, working_on
from minions_evals_mcp.engine.records.new_version import new_version
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import Started, silent
from minions_evals_mcp.engine.seals.exposures import budget_of, sealed_verdict, vet_can_decide
from minions_evals_mcp.engine.trials.request import TrialRequest
from minions_evals_mcp.engine.version_chain import find_ref, prompt_chain, version_record
from minions_evals_mcp.errors import BadInputError, ConflictError, EvalsError, InstrumentError, SealedError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.store import jobs, seals
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.seals import Seal

OPEN, SEALED = "open", "sealed"
"""The parts of a trial, in their order: each is a comparison under the trial's key and this name."""
LEAST_USD = 1e-9
"""What an exhausted cap leaves: a run under it says so itself."""


class TrialAnswer(Value):
    """The result of a trial: the whole of the open part, the verdict alone of the sealed one, and the budget that is left.

    `open` is null where all of the benchmark is sealed, `sealed` where it was not asked, `budget` where nothing is sealed.
    `mayBeApproved`: it improved where that decides, and whoever asks could approve it on this evidence.
    """

    version: str
    against: str
    open: ComparisonSummary | None
    sealed: SealedVerdict | None
    budget: BudgetLeft | None
    may_be_approved: bool
    in_words: str


async def compare_sealed(engine: Engine, request: ComparisonRequest, *, progress: Progress = silent) -> SealedVerdict:
    """The verdict of a comparison on a sealed benchmark, which is all that is told of it; the same key is the same answer.

    Raises `SealedError` where the benchmark is not sealed, or where nothing could decide a further attempt.
    """
    if request.sequential:
        raise SealedError("sequential is not allowed on a sealed benchmark.", remedy="Leave sequential out.")
    verdict = None if request.key is None else await _told_under(engine, request.key)
    if verdict is None:
        await engine.store.read(lambda db: _vet_budget(db, request.benchmark_id, most=None))
        job = await (await start_comparison(engine, request)).finish(progress)
        verdict = await sealed_verdict(engine, job.id)
    if verdict is None:
        raise InstrumentError(
            f"the comparison on {request.benchmark_id} has no verdict yet.", remedy="Call again with the same key."
        )
    return verdict


async def try_version(engine: Engine, request: TrialRequest, *, progress: Progress = silent) -> TrialAnswer:
    """The trial of a candidate version: open part first, then, where it is asked and there is budget, the sealed part.

    Raises as `start_trial` does, before anything runs where the budget does not reach.
    """
    job = await (await start_trial(engine, request)).finish(progress)
    return await trial_answer(engine, job.id)


async def start_trial(engine: Engine, request: TrialRequest) -> Started:
    """The trial's job under the request's key, vetted and written down; nothing has run.

    Raises as `start_comparison` does, `SealedError` where the budget does not reach, and `ConflictError` for another's key.
    """
    known = None if request.key is None else await engine.store.read(lambda db: jobs.job_by_key(db, request.key or ""))
    opened, seal = await engine.store.read(lambda db: _parts(db, request.benchmark_id))
    if request.sealed and known is None:
        await engine.store.read(lambda db: _vet_budget(db, request.benchmark_id, most=request.max_attempts))
    version = await _candidate(engine, request)
    against = await _version_to_beat(engine, version, request, known)
    request = request.model_copy(update={"version": version, "against": against, "content": None})
    if known is not None:
        _vet_alike(known, request)
    ident = engine.new_id() if known is None else known.id
    key = request.key or ident
    parts = {OPEN: opened, SEALED: seal.benchmark_id if request.sealed and seal is not None else None}
    asked = {part: _comparison_request(request, name, key, part) for part, name in parts.items() if name is not None}
    if known is not None and known.state == "completed":
        return Started(known, partial(_unchanged, known))
    if not asked:
        raise SealedError(
            f"all cases of {request.benchmark_id} are sealed, so there is no open part to try the version on.",
            remedy=f"Give {argument('sealed')}: the sealed part returns only its verdict and uses one attempt.",
        )
    first = await start_comparison(engine, next(iter(asked.values())))
    now, spec = engine.clock(), _spec(request)
    new = Job(ident, key, "trial", request.benchmark_id, spec, "running", "", {}, first.job.total, now, now)
    job = await engine.store.write(lambda db: jobs.start(db, new))
    _vet_alike(job, request)
    return Started(job, partial(_finish, engine, job, asked, request.max_cost_usd))


async def trial_answer(engine: Engine, job_id: str) -> TrialAnswer:
    """The result of a trial as far as it is made; raises `NotFoundError`."""
    job = await get_job(engine, job_id)
    request = TrialRequest.model_validate(job.spec["request"], strict=False)
    opened, closed = [await engine.store.read(partial(_part, job=job, part=part)) for part in (OPEN, SEALED)]
    made = None if opened is None else await engine.store.read(lambda db: run_pairs.comparison(db, opened.id))
    summary = None if made is None else await summarize_comparison(engine, made.id)
    verdict = None if closed is None else await sealed_verdict(engine, closed.id)
    seal = (await engine.store.read(lambda db: _parts(db, request.benchmark_id)))[1]
    budget = None if seal is None else await engine.store.read(lambda db: budget_of(db, seal))
    return TrialAnswer(
        version=request.version, against=request.against or "", open=summary, sealed=verdict, budget=budget,
        may_be_approved=await _may_be_approved(engine, verdict or (summary if budget is None else None)),
        in_words=_in_words(summary, verdict, budget),
    )  # fmt: skip


def _part(db: Db, *, job: Job, part: str) -> Job | None:
    return jobs.job_by_key(db, f"{job.key}:{part}")


def _spec(request: TrialRequest) -> Json:
    """What must be the same when the trial is resumed: the text of a candidate is that of its version."""
    frozen = request.frozen()
    return {"request": {name: value for name, value in frozen.items() if name not in {"content", "maxAttempts"}}}


def _vet_alike(known: Job, request: TrialRequest) -> None:
    if known.kind != "trial" or known.spec != _spec(request):
        raise ConflictError(
            f"the key {known.key!r} belongs to the run {known.id}, which was requested with other arguments.",
            remedy=f"{resume_step(known)} with the same arguments. Or use another {argument('key')}.",
        )


async def _version_to_beat(engine: Engine, version: str, request: TrialRequest, known: Job | None) -> str:
    """The version in use where none is named; a trial that was begun keeps the one that it was begun against."""
    begun = (
        None
        if known is None or known.kind != "trial"
        else TrialRequest.model_validate(known.spec["request"], strict=False)
    )
    named = request.against or (None if begun is None else begun.against)
    return await engine.store.read(lambda db: _against(db, version, named))


async def _unchanged(job: Job, progress: Progress) -> Job:
    del progress
    return job


async def _finish(
    engine: Engine, job: Job, asked: dict[str, ComparisonRequest], cap: float | None, progress: Progress
) -> Job:
    """Runs what is open of the parts, one after the other under one cap; a stop leaves the job resumable."""
    async with working_on(engine, job):
        job = await get_job(engine, job.id)
        if job.state == "completed":
            return job
        await set_state(engine, job, "running")
        try:
            with resumed_as(resume_step(job)):
                await _carry_on(engine, job, asked, cap, progress)
        except BaseException as error:
            await set_state(
                engine, job, "stopped", reason=error.message_text if isinstance(error, EvalsError) else "interrupted"
            )
            raise
        await set_state(engine, job, "completed")
        return await get_job(engine, job.id)


async def _carry_on(
    engine: Engine, job: Job, asked: dict[str, ComparisonRequest], cap: float | None, progress: Progress
) -> None:
    total, spent = 0, 0.0
    for request in asked.values():
        left = None if cap is None else max(cap - spent, LEAST_USD)
        started = await start_comparison(engine, request.model_copy(update={"max_cost_usd": left}))
        total += started.job.total
        await engine.store.write(partial(jobs.set_total, ident=job.id, total=total))
        ended = await started.finish(progress)
        if ended.state != "completed":
            raise BadInputError("a trial cannot wait for judgments.", remedy="Use judge auto, heuristic or llm.")
        spent += await engine.store.read(partial(_spent, comparison=ended))


def _spent(db: Db, *, comparison: Job) -> float:
    sides = [jobs.job_by_key(db, f"{comparison.id}:{which}") for which in ("A", "B")]
    return sum(side.spent.get("costUsd", 0.0) for side in sides if side is not None)


async def _may_be_approved(engine: Engine, deciding: ComparisonSummary | SealedVerdict | None) -> bool:
    if deciding is None or deciding.verdict != "improved":
        return False
    if engine.speaker.is_person:
        return True
    return await barred_for_agents(engine, deciding.version_b, deciding.comparison_id) is None


def _in_words(summary: ComparisonSummary | None, verdict: SealedVerdict | None, budget: BudgetLeft | None) -> str:
    sentences: list[str] = []
    if summary is not None:
        sentences.append(f"Open cases: {summary.verdict} ({summary.decided_delta:+.3f}).")
    if verdict is not None:
        sentences.append(f"Sealed cases: {verdict.in_words}")
    elif budget is not None:
        sentences.append(
            f"Sealed cases: not used; attempt {budget.attempt} is next, {budget.left:.3g} of the error budget is left."
        )
    return " ".join(sentences)


async def _told_under(engine: Engine, key: str) -> SealedVerdict | None:
    job = await engine.store.read(lambda db: jobs.job_by_key(db, key))
    return None if job is None else await sealed_verdict(engine, job.id)


def _parts(db: Db, benchmark_id: str) -> tuple[str | None, Seal | None]:
    """The open benchmark, if there is one, and the seal on it or on its part."""
    seal = seals.seal_of(db, benchmark_id)
    return (benchmark_id if seal is None else seal.open_benchmark_id), seal


def _vet_budget(db: Db, benchmark_id: str, *, most: int | None) -> None:
    seal = seals.seal_of(db, benchmark_id)
    if seal is None:
        raise SealedError(
            f"{benchmark_id} has no sealed part.",
            remedy=f"{Next('seal', {'benchmark_id': benchmark_id, 'share': 0.3}, 'seals a part of it')}.",
        )
    budget = vet_can_decide(db, seal)
    if most is not None and budget.attempt > most:
        raise SealedError(
            f"maxAttempts is {most}, and the next verdict on {seal.benchmark_id} would be attempt {budget.attempt}.",
            remedy="Try the candidate on the open part: leave sealed out.",
        )


async def _candidate(engine: Engine, request: TrialRequest) -> str:
    """The candidate's id; its text is kept as a new version where it is given."""
    if request.content is None:
        return await engine.store.read(lambda db: find_ref(db, request.version))
    version = await engine.store.read(lambda db: _same_text(db, request.version, request.content or ""))
    if version is not None:
        return version
    latest = await engine.store.read(lambda db: prompt_chain(db, request.version).latest.id)
    return (await new_version(engine, latest, request.content, changelog=f"tried by {request.triggered_by}")).id


def _same_text(db: Db, name: str, content: str) -> str | None:
    """The version of that prompt that says the same already."""
    for ident in prompt_chain(db, name).version_ids:
        version = version_record(db, ident)
        if version is not None and version.fields.content.strip() == content.strip():
            return ident
    return None


def _against(db: Db, version: str, named: str | None) -> str:
    other = current_version(db, version) if named is None else find_ref(db, named)
    if other == version:
        raise BadInputError(f"{version} is the version in use, so there is no other version to compare it with.")
    return other


def _comparison_request(request: TrialRequest, benchmark_id: str, key: str, part: str) -> ComparisonRequest:
    return ComparisonRequest.asked_by(
        request, benchmark_id=benchmark_id, version_a=request.against, version_b=request.version, key=f"{key}:{part}"
    )
