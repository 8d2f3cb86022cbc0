"""The skill "compare prompt versions": the benchmark once under each version, on the same cases, then the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.digests import digest, text_digest
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, PromptComparison
from minions_evals_mcp.domain.values import one_line
from minions_evals_mcp.engine.asking_again import resume_step, resumed_as
from minions_evals_mcp.engine.compare.sequential import run_until_settled
from minions_evals_mcp.engine.conclude.attempts import attempt_of
from minions_evals_mcp.engine.conclude.comparison import (
    Rule,
    benchmark_run_in,
    conclude_comparison,
    labels_of,
    record_comparison,
)
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, request_of, working_on
from minions_evals_mcp.engine.request import ComparisonRequest, RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import (
    Started,
    StartedCases,
    get_benchmark,
    silent,
    start_benchmark,
    vet_benchmark,
)
from minions_evals_mcp.engine.seals.exposures import vet_can_decide
from minions_evals_mcp.errors import BadInputError, ConflictError, EvalsError, InstrumentError, SealedError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, JobState
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.seals import is_sealed, seal_of


async def compare_prompt_versions(
    engine: Engine, request: ComparisonRequest, *, progress: Progress = silent
) -> Record[PromptComparison] | None:
    """The comparison under the request's key; None where outputs wait to be judged by the caller or a person.

    Raises as `run_benchmark` does; it can be resumed under its key after each of them. Raises `SealedError` for a sealed
    benchmark, of whose comparisons `compare_sealed` tells the verdict.
    """
    if await engine.store.read(lambda db: is_sealed(db, request.benchmark_id)):
        raise SealedError(
            f"{request.benchmark_id} is sealed: a comparison on it returns only its verdict.",
            remedy=f"Call compare_sealed or try_version. Or: {_compare(request)}.",
        )
    job = await (await start_comparison(engine, request)).finish(progress)
    return await engine.store.read(lambda db: run_pairs.comparison(db, job.id))


async def start_comparison(engine: Engine, request: ComparisonRequest) -> Started:
    """The comparison's job under the request's key, with both sides vetted and written down; nothing has run."""
    benchmark = await get_benchmark(engine, request.benchmark_id)
    is_new = await engine.store.read(lambda db: _vet_sealed(db, request))
    request = await _with_versions(engine, request, benchmark.fields.test_case_ids)  # before the key is taken
    if is_new and request.sequential:
        await engine.store.read(lambda db: _vet_ungrouped(db, benchmark.fields.test_case_ids))
    if is_new:  # what cannot start leaves no job behind
        for version in (request.version_a, request.version_b):
            await vet_benchmark(engine, _side_asked(request, version, order_seed=0 if request.sequential else None))
    job = await _written_down(engine, request)
    sides = [await start_benchmark(engine, _side(request, job, which)) for which in ("A", "B")]
    await _sum_up(engine, job, sides)
    return Started(job, partial(_finish, engine, job, request))


def _vet_sealed(db: Db, request: ComparisonRequest) -> bool:
    """Returns whether the comparison is new; refuses a new one on sealed cases that no outcome of could decide."""
    is_new = request.key is None or jobs.job_by_key(db, request.key) is None
    seal = seal_of(db, request.benchmark_id)
    if is_new and seal is not None and seal.benchmark_id == request.benchmark_id:
        vet_can_decide(db, seal)
    return is_new


def _vet_ungrouped(db: Db, case_ids: Sequence[str]) -> None:
    """Refuses looks after every case where cases share groups: the looks count each case as independent."""
    groups = [case.fields.group for case in records.get_all(db, [*case_ids], TestCase).values() if case.fields.group]
    if len(set(groups)) < len(groups):
        raise BadInputError(
            f"sequential: {len(groups)} cases share {len(set(groups))} groups, and sequential tests treat cases as independent.",
            remedy=f"Leave {argument('sequential')} out: the comparison then counts groups.",
        )


async def _with_versions(
    engine: Engine, request: ComparisonRequest, case_ids: Sequence[str]
) -> ComparisonRequest:  # fmt: skip
    """The request with both versions by their ids; raises as `find_version` does, and for one version by two names."""
    refs: list[str] = []
    for name in (request.version_a, request.version_b):
        named_request = RunRequest(subject_id=request.benchmark_id, prompt_version_ref=name, target=request.target)
        resolved = await planning.resolved(engine, named_request, case_ids)
        assert resolved.prompt_version_ref is not None
        refs.append(resolved.prompt_version_ref)
    if refs[0] == refs[1]:
        raise BadInputError(
            f"versionB: {request.version_b} and versionA are the same version, {refs[0]}.", remedy="Name two versions."
        )
    return request.model_copy(update={"version_a": refs[0], "version_b": refs[1]})


async def _written_down(engine: Engine, request: ComparisonRequest) -> Job:
    now = engine.clock()
    ident = engine.new_id()
    spec = {"request": request.frozen()}
    new = Job(ident, request.key or ident, "comparison", request.benchmark_id, {**spec}, "running", "", {}, 0, now, now)
    job = await engine.store.write(lambda db: jobs.start(db, new))
    if job.spec != new.spec:
        raise ConflictError(
            f"the key {job.key!r} belongs to the run {job.id}, which was requested with other arguments.",
            remedy="Resume it with the same arguments, or use another key.",
        )
    return job


def _side(request: ComparisonRequest, job: Job, which: str) -> RunRequest:
    """One version's run of the benchmark."""
    version = request.version_a if which == "A" else request.version_b
    seed = int(text_digest(job.id)[:8], 16) if request.sequential else None
    of_job = {"comparison_id": job.id, "key": f"{job.id}:{which}"}
    return _side_asked(request, version, order_seed=seed).model_copy(update=of_job)


def _side_asked(request: ComparisonRequest, version: str, *, order_seed: int | None) -> RunRequest:
    return RunRequest.asked_by(
        request,
        subject_id=request.benchmark_id,
        prompt_version_ref=version,
        order_seed=order_seed,
        purpose="comparison",
    )


async def _sum_up(engine: Engine, job: Job, sides: list[StartedCases]) -> None:
    total = sum(side.job.total for side in sides)
    if job.total != total:
        await engine.store.write(lambda db: jobs.set_total(db, job.id, total))


async def _finish(engine: Engine, job: Job, request: ComparisonRequest, progress: Progress) -> Job:
    """Runs what is open of both sides; the second side's conclusion records the comparison in its own transaction.

    Raises `BusyError` where another process carries it on, and leaves it to that.
    """
    async with working_on(engine, job):
        await _carry_on(engine, job, request, progress)
        return await _ended(engine, job)


async def _carry_on(engine: Engine, job: Job, request: ComparisonRequest, progress: Progress) -> None:
    await _mark(engine, job, "running", "")
    try:
        with resumed_as(resume_step(job)):
            await (_run_in_step if request.sequential else _run_in_turn)(engine, job, request, progress)
    except BaseException as error:
        why = error.message_text if isinstance(error, EvalsError) else "interrupted"
        with anyio.CancelScope(shield=True):
            await _mark(engine, job, "stopped", why)
        raise


async def _ended(engine: Engine, job: Job) -> Job:
    tie, at = engine.skills.compare_prompt_versions.parameters.tie_threshold, engine.clock()
    await engine.store.write(lambda db: conclude_comparison(db, job.id, tie_threshold=tie, at=at))
    now = await get_job(engine, job.id)
    if now.state == "failed":
        raise InstrumentError(f"the comparison {job.id} failed: {one_line(now.reason)}")
    await _mark(engine, job, "awaiting-judgments", "outputs wait to be judged")
    return await get_job(engine, job.id)


async def _run_in_turn(engine: Engine, job: Job, request: ComparisonRequest, progress: Progress) -> None:
    for which in ("A", "B"):
        side = _side(request, job, which)
        earlier = await _spent(engine, job, side)
        capped = side.model_copy(update={"max_cost_usd": _left(request.max_cost_usd, earlier)})
        await (await start_benchmark(engine, capped)).finish(progress)


async def _run_in_step(engine: Engine, job: Job, request: ComparisonRequest, progress: Progress) -> None:
    """Both sides side by side, each under half of the cap."""
    half = None if request.max_cost_usd is None else request.max_cost_usd / 2
    sides = [_side(request, job, which).model_copy(update={"max_cost_usd": half}) for which in ("A", "B")]
    started = [await start_benchmark(engine, side) for side in sides]
    if all(side.job.state == "completed" for side in started):
        return
    runs, at = (started[0].job.id, started[1].job.id), engine.clock()
    versions, benchmark = (request.version_a, request.version_b), request.benchmark_id
    attempt = await engine.store.read(
        lambda db: attempt_of(db, versions, runs=runs, job=job.id, at=at, benchmark=benchmark)
    )
    await run_until_settled(engine, started, progress, level=attempt.level)


async def _mark(engine: Engine, job: Job, state: JobState, reason: str) -> None:
    """Notes the comparison's state, unless it is recorded already: judgments may be handed in meanwhile."""
    at = engine.clock()

    def mark(db: Db) -> None:
        if run_pairs.comparison(db, job.id) is None:
            jobs.set_state(db, job.id, state, reason=reason, at=at)

    await engine.store.write(mark)


async def _spent(engine: Engine, job: Job, side: RunRequest) -> float:
    """Returns what the other side has cost so far."""
    other = f"{job.id}:{'A' if (side.key or '').endswith('B') else 'B'}"
    earlier = await engine.store.read(lambda db: jobs.job_by_key(db, other))
    return earlier.spent.get("costUsd", 0.0) if earlier else 0.0


def _left(cap: float | None, spent: float) -> float | None:
    """Returns what is left of the cap; never nothing at all, for a run under an exhausted cap says so itself."""
    return None if cap is None else max(cap - spent, 1e-9)


async def compare_runs(
    engine: Engine, run_a: str, run_b: str, *, tie_threshold: float | None = None
) -> Record[PromptComparison]:
    """The comparison of two benchmark-runs that are stored; the same two compared twice are one comparison.

    Raises `NotFoundError`, `BadInputError`, or `ConflictError` with what they were measured with differently.
    """
    tie = engine.skills.compare_prompt_versions.parameters.tie_threshold if tie_threshold is None else tie_threshold
    corrected = await engine.store.read(lambda db: labels_of(db, run_a, run_b))
    ident = f"comparison:{digest([run_a, run_b, tie, *corrected])}"
    comparison = await engine.store.read(lambda db: run_pairs.comparison(db, ident))
    if comparison is not None:
        return comparison
    at = engine.clock()

    def record(db: Db) -> Record[PromptComparison]:
        return run_pairs.comparison(db, ident) or record_comparison(
            db, ident, _whole_run_in(db, run_a), _whole_run_in(db, run_b), by=Rule(tie), at=at
        )

    return await engine.store.write(record)


def _whole_run_in(db: Db, ident: str) -> Record[BenchmarkRun]:
    """The benchmark-run under that id, if a comparison may rest on it (HR2).

    One of chosen cases says nothing about the versions; one that was looked at after every case errs if looked at again.
    """
    run = benchmark_run_in(db, ident)
    if run.fields.selection is not None:
        raise BadInputError(
            f"the run {ident} is not the whole benchmark: {run.fields.selection}.",
            remedy=f"{Next('diff', {'run_a': ident, 'run_b': 'RUN'}, 'shows what changed')}. Compare whole runs.",
        )
    if looked_at(db, ident):
        raise BadInputError(
            f"the run {ident} was sequential and may have stopped early because of its results.",
            remedy=f"Use the verdict of its own comparison, or run both versions again without {argument('sequential')}.",
        )
    return run


def looked_at(db: Db, run_id: str) -> bool:
    """Returns whether the run, or the one whose outputs it judges anew, was looked at after every case."""
    job = jobs.job(db, run_id)
    if job is None:
        return False
    request = request_of(job)
    return request.order_seed is not None or (
        request.rejudge_run_id is not None and looked_at(db, request.rejudge_run_id)
    )


def _compare(request: ComparisonRequest) -> Next:
    versions = {"version_a": request.version_a, "version_b": request.version_b}
    return Next("compare", {"benchmark_id": request.benchmark_id, **versions}, "compares them and shows the verdict")
