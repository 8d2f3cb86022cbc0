"""Verdicts from the caller or a person, accepted for exactly the packet that was handed out."""

from __future__ import annotations

from dataclasses import dataclass

from minions_evals_mcp.domain.outcomes import Ended, Failed, Passed, UnitKey, Verdict
from minions_evals_mcp.engine import planning
from minions_evals_mcp.engine.budget import Budget
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, set_state, working_on
from minions_evals_mcp.engine.judging import Judging
from minions_evals_mcp.engine.measures import ByNothing, Measure, measures
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run_benchmark import conclude_job
from minions_evals_mcp.engine.units import Bench, Unit, judged
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.judges.packets import AnsweredPacket, Submission, packet_digest, verdicts_for
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, UnitRow


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A packet whose verdicts are vetted, and the unit that they complete."""

    row: UnitRow
    measure: Measure
    verdicts: tuple[tuple[jobs.VerdictKey, Verdict], ...]


async def submit_judgments(engine: Engine, submission: Submission) -> Job:
    """Takes all of the submission or, refusing by name, nothing; returns the job as it stands then."""
    _vet_distinct(submission)
    job = await get_job(engine, submission.run_id)
    request = request_of(job)
    async with working_on(engine, job):
        bench = await _bench(engine, job, request)
        accepted = [await _accept(bench, job, submission, one) for one in submission.packets]
        await _keep(bench, accepted)
        await _complete(bench, accepted)
        await _conclude_if_settled(bench, job)
    return await get_job(engine, job.id)


def _vet_distinct(submission: Submission) -> None:
    seen: set[str] = set()
    for one in submission.packets:
        if one.digest in seen:
            raise ConflictError(f"packet {one.digest} comes twice.", remedy="Judge each packet once.")
        seen.add(one.digest)


def request_of(job: Job) -> RunRequest:
    """The request that a job was started with."""
    return RunRequest.model_validate(job.spec["request"], strict=False)


async def _bench(engine: Engine, job: Job, request: RunRequest) -> Bench:
    # The model's own verdicts are kept already: it is named so that they are found, and never asked.
    judging = planning.judge_for(engine, request, Budget(None, None, _never), model=planning.model_of(job))
    version = await engine.store.read(lambda db: planning.version_record(db, request.prompt_version_ref))
    run_id = job.id if job.kind == "benchmark" else None
    frame = planning.frame_for(engine, run_id, version, request, target_digest=planning.digests_of(job).target)
    return Bench(engine, request, judging, None, version, frame)


def _never(reason: str) -> None:
    """A budget without caps never stops."""
    raise AssertionError(reason)


async def _accept(bench: Bench, job: Job, submission: Submission, answered: AnsweredPacket) -> _Accepted:
    engine = bench.engine
    row = await engine.store.read(lambda db: jobs.unit_of_packet(db, job.id, answered.digest))
    if row is None:
        raise ConflictError(
            f"the run {job.id} handed out no packet {answered.digest}.",
            remedy=f"`minions-evals runs {job.id}` shows the packets that wait.",
        )
    if row.outcome != "awaiting-judgments" or row.observed is None:
        raise ConflictError(f"packet {answered.digest}: it is judged already.", remedy="A judgment is never changed.")
    rubrics: dict[str, RubricInUse] = {}
    (measure,) = await engine.store.read(lambda db: measures(db, (row.case_id,), rubrics))
    if isinstance(measure.yardstick, ByNothing):
        raise BadInputError(
            f"test-case {row.case_id} has nothing to judge by.",
            remedy="Give it a rubric, assertions or expectedOutputs, then run it again.",
        )
    return _vetted(bench.judging, submission, answered, row, measure)


def _vetted(
    judging: Judging, submission: Submission, answered: AnsweredPacket, row: UnitRow, measure: Measure
) -> _Accepted:
    assert isinstance(measure.yardstick, RubricInUse)
    assert row.observed is not None
    case = measure.case.fields
    work = Work(case.inputs, case.expected_outputs, row.observed)
    kinds = judging.kinds(measure.yardstick)
    asked = judging.asked_outside(measure.yardstick)
    if packet_digest(row.key, asked, work) != answered.digest:
        raise ConflictError(
            f"packet {answered.digest}: its case or criteria were changed since it was handed out.",
            remedy="Run again under a new key and judge the new packet.",
        )
    kind = "human" if row.reason == "human" else "llm"
    verdicts = verdicts_for(answered, asked, judged_by=submission.judged_by, kind=kind)
    about = [judging.about(one, kinds[one.id], work) for one in asked]
    return _Accepted(row, measure, tuple(zip(about, verdicts, strict=True)))


async def _keep(bench: Bench, accepted: list[_Accepted]) -> None:
    at = bench.engine.clock()

    def save(db: Db) -> None:
        for one in accepted:
            for about, verdict in one.verdicts:
                jobs.save_verdict(db, one.row.key, about, verdict, at=at)

    await bench.engine.store.write(save)


async def _complete(bench: Bench, accepted: list[_Accepted]) -> None:
    ended: list[tuple[UnitKey, str, Ended]] = []
    for one in accepted:
        assert one.row.observed is not None
        unit = Unit(one.row.key, one.measure, one.row.observed)
        ended.append((one.row.key, one.row.case_id, await judged(bench, unit, one.row.observed)))
    at = bench.engine.clock()

    def save(db: Db) -> None:
        for key, case_id, end in ended:
            assert isinstance(end, Passed | Failed), end
            runs.record_unit(db, key, case_id, end, at=at)

    await bench.engine.store.write(save)


async def _conclude_if_settled(bench: Bench, job: Job) -> None:
    engine = bench.engine
    counts = await engine.store.read(lambda db: jobs.unit_counts(db, job.id))
    waiting = counts.get("awaiting-judgments", 0)
    if waiting:
        await set_state(engine, job, "awaiting-judgments", reason=f"{waiting} outputs wait to be judged")
        return
    left = job.total - sum(counts.values())
    if left:
        await set_state(engine, job, "stopped", reason=f"{left} outputs are not made or judged yet")
    elif job.kind == "test-case":
        await set_state(engine, job, "completed")
    else:
        await conclude_job(engine, job, bench.request)
