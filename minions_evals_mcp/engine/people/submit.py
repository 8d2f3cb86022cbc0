"""Verdicts from the caller or a person, accepted for exactly the packet that was handed out, and kept in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from minions_evals_mcp.domain.outcomes import Awaiting, Failed, JudgeErrored, Passed, UnitKey, Verdict
from minions_evals_mcp.domain.speaker import AGENTS, Speaker, require_role
from minions_evals_mcp.engine.budget import uncapped
from minions_evals_mcp.engine.conclude.case_regressions import tell_case_regressions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import TURN_S, get_job, request_of, waiting_reason, working_on
from minions_evals_mcp.engine.judge.judging import Judging
from minions_evals_mcp.engine.judge.rounds import round_of, rounds
from minions_evals_mcp.engine.judge.yardstick import ByNothing, Measure, measures
from minions_evals_mcp.engine.outbox import tell_asker
from minions_evals_mcp.engine.people.assignments import vet_assignment
from minions_evals_mcp.engine.people.user_turns import AS_A_PERSON, UserSaid, user_said
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.conclusion import conclude_job
from minions_evals_mcp.engine.run.pipeline import request_approval
from minions_evals_mcp.engine.run.units import Bench, Unit, earlier_runs, judged, proposal_scores
from minions_evals_mcp.engine.run.versions import versions_of_job
from minions_evals_mcp.errors import BadInputError, ConflictError, InstrumentError, InvalidRecordError, RuleError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.packets import AnsweredPacket, Submission, packet_digest, verdicts_for
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import jobs, runs, speakers, talks, unit_rows
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, UnitRow


@frozen_type
class _Accepted:
    """A packet whose verdicts are vetted, and the unit that they complete."""

    row: UnitRow
    measure: Measure
    verdicts: tuple[tuple[jobs.VerdictKey, Verdict], ...]


async def submit_judgments(engine: Engine, submission: Submission, *, imported: bool = False) -> Job:
    """Takes all of the submission or, refusing by name, nothing; returns the job as it stands then.

    Whoever speaks through the engine said so: a person under the name that the door knows, else an agent under its own.
    What is `imported` keeps the name of who said so elsewhere; it is a person's only where a person hands it in.
    """
    require_role(engine.speaker, "judge")
    _vet_distinct(submission)
    if not imported:
        await _vet_name(engine, submission)
    job = await get_job(engine, submission.run_id)
    request = request_of(job)
    async with working_on(engine, job, patience_s=TURN_S):
        await vet_assignment(engine, job, submission)
        bench = await _bench(engine, job, request)
        said = [await user_said(engine, job, packet) for packet in submission.packets if packet.message is not None]
        judging = [packet for packet in submission.packets if packet.message is None]
        accepted = [await _accept(bench, job, submission, packet, imported=imported) for packet in judging]
        ended = await _ended(bench, accepted)
        await engine.store.write(partial(_complete, bench=bench, job=job, accepted=accepted, ended=ended, said=said))
    return await get_job(engine, job.id)


async def judge_waiting(engine: Engine, key: UnitKey) -> bool:
    """Returns whether an output that waited was judged, by rule, as its case has something to judge by now; its job goes on then.

    Raises `InstrumentError` where it cannot be judged; it waits on, then.
    """
    job = await get_job(engine, key.job_id)
    async with working_on(engine, job, patience_s=TURN_S):
        bench = await _bench(engine, job, request_of(job))
        rows = await engine.store.read(partial(jobs.units, job_id=job.id, first=key.position, last=key.position + 1))
        row = rows[key.position, key.trial]
        rubrics: dict[str, RubricInUse] = {}
        (measure,) = await engine.store.read(lambda db: measures(db, (row.case_id,), rubrics))
        if row.outcome != "awaiting-judgments" or isinstance(measure.yardstick, RubricInUse | ByNothing):
            return False
        accepted = [_Accepted(row, measure, ())]
        ended = await _ended(bench, accepted)
        await engine.store.write(partial(_complete, bench=bench, job=job, accepted=accepted, ended=ended))
        return True


async def _vet_name(engine: Engine, submission: Submission) -> None:
    """Refuses an agent that gives the name of a person."""
    if engine.speaker.is_person or submission.judged_by is None:
        return
    if await engine.store.read(partial(speakers.is_person, name=submission.judged_by)):
        raise BadInputError(
            f"judgedBy: {submission.judged_by} is a person registered in this store, and the caller is an agent.",
            remedy=f"Give the agent's own name. {AS_A_PERSON}",
        )


def _vet_distinct(submission: Submission) -> None:
    seen: set[str] = set()
    for packet in submission.packets:
        if packet.digest in seen:
            raise ConflictError(f"duplicate judgment request {packet.digest}.", remedy="Answer each request once.")
        seen.add(packet.digest)


async def _bench(engine: Engine, job: Job, request: RunRequest) -> Bench:
    # The model's own verdicts are kept already: it is named so that they are found, and never asked.
    judging = planning.judge_for(engine, request, uncapped(), model=planning.model_of(job))
    run_id = job.id if job.kind == "benchmark" else None
    frame = planning.frame_for(engine, run_id, target_digest=planning.digests_of(job).target)
    versions = await engine.store.read(lambda db: versions_of_job(db, job, request))
    return Bench(engine, request, judging, None, versions, frame)


async def _accept(
    bench: Bench, job: Job, submission: Submission, answered: AnsweredPacket, *, imported: bool
) -> _Accepted:  # fmt: skip
    engine = bench.engine
    row = await engine.store.read(lambda db: jobs.unit_of_packet(db, job.id, answered.digest))
    if row is None:
        raise ConflictError(
            f"the run {job.id} has no judgment request {answered.digest}.",
            remedy=f"{Next('show-run', {'run_id': job.id}, 'shows the waiting requests')}. If the case or a criterion has changed"
            " since the run began, run again under a new key.",
        )
    if row.outcome == "awaiting-judgments" and talks.player_asked(row.reason):
        raise BadInputError(
            f"request {answered.digest} asks for the next message of the user in a conversation, and got none.",
            remedy="Give message, or leaves: true.",
        )
    if row.outcome != "awaiting-judgments" or row.observed is None:
        raise ConflictError(
            f"judgment request {answered.digest}: already judged.", remedy="Judgments cannot be changed."
        )
    rubrics: dict[str, RubricInUse] = {}
    (measure,) = await engine.store.read(lambda db: measures(db, (row.case_id,), rubrics))
    if not isinstance(measure.yardstick, RubricInUse):
        raise BadInputError(
            f"test-case {row.case_id} has no rubric to judge by.",
            remedy=(
                f"{Next('accept', {'test_case_id': row.case_id}, 'accepts the output as the baseline')}. Or give the case a"
                " rubric."
            ),
        )
    speaker, given = engine.speaker, submission.judged_by
    named = speaker.name if speaker.is_person and not imported else given or speaker.name or AGENTS
    return _vetted(
        bench.judging,
        _Submitter(speaker, named, imported=imported, several=len(submission.packets) > 1),
        answered,
        row,
        measure,
    )


@frozen_type
class _Submitter:
    """The one who hands judgments in, under which name they are kept, and whether for several packets at once."""

    speaker: Speaker
    named: str
    imported: bool
    several: bool


def _vetted(
    judging: Judging, handed_in: _Submitter, answered: AnsweredPacket, row: UnitRow, measure: Measure
) -> _Accepted:  # fmt: skip
    assert isinstance(measure.yardstick, RubricInUse)
    assert row.observed is not None
    case = measure.case.fields
    work = Work(case.inputs, case.expected_outputs, row.observed)
    kinds = judging.panel.kinds(measure.yardstick)
    asked = rounds(measure.yardstick, judging.panel.choice, has_model=judging.panel.llm is not None)
    criteria_asked = round_of(asked, row, work, measure.yardstick).criteria
    if packet_digest(row.key, criteria_asked, work) != answered.digest:
        raise ConflictError(
            f"judgment request {answered.digest}: its case or criteria have changed since it was created.",
            remedy="Run again under a new key and answer the new request.",
        )
    for_people = [criterion.id for criterion in criteria_asked if kinds[criterion.id] == "human"]
    if for_people and not handed_in.speaker.is_person:
        raise BadInputError(
            f"judgment request {answered.digest} asks a person ({', '.join(for_people)}), and the caller is an agent.",
            remedy=AS_A_PERSON,
        )
    try:
        verdicts = verdicts_for(
            answered, criteria_asked, judged_by=handed_in.named, speaker=handed_in.speaker, imported=handed_in.imported
        )
    except (InvalidRecordError, RuleError) as error:
        raise (error.at(f"judgment request {answered.digest}") if handed_in.several else error) from None
    about = [judging.panel.about(criterion, kinds[criterion.id], work) for criterion in criteria_asked]
    return _Accepted(row, measure, tuple(zip(about, verdicts, strict=True)))


async def _ended(bench: Bench, accepted: list[_Accepted]) -> list[Passed | Failed | Awaiting]:
    """The runs that the packets' units become, or the next request where a person has still to judge; nothing is written yet."""
    ended: list[Passed | Failed | Awaiting] = []
    for answer in accepted:
        assert answer.row.observed is not None
        bench.judging.kept.given.update(
            {(answer.row.key.run_id, verdict.criterion_id): verdict for _, verdict in answer.verdicts}
        )
        unit = await bench.engine.store.read(partial(_unit, bench=bench, row=answer.row, measure=answer.measure))
        (run,) = await judged(bench, [(unit, answer.row.observed)])
        if isinstance(run, JudgeErrored):
            raise InstrumentError(f"the output of {answer.row.case_id} could not be judged: {run.reason}")
        assert isinstance(run, Passed | Failed | Awaiting), run
        ended.append(run)
    return ended


def _unit(db: Db, *, bench: Bench, row: UnitRow, measure: Measure) -> Unit:
    """The unit with the runs that its own is compared with; the version that its output was made with is met."""
    assert row.observed is not None
    bench.versions.meet_output(db, row.observed.prompt_version_ref or bench.versions.asked)
    runs = earlier_runs(db, bench, row.key.job_id, [row.case_id]) if row.key.trial == 1 else {}
    proposed = proposal_scores(db, measure, row.observed.agent_run_id)
    return Unit(row.key, measure, row.observed, earlier=runs.get(row.case_id, ()), proposed=proposed)


def _complete(
    db: Db,
    *,
    bench: Bench,
    job: Job,
    accepted: list[_Accepted],
    ended: list[Passed | Failed | Awaiting],
    said: Sequence[UserSaid] = (),
) -> None:
    """Verdicts, messages of users, runs, and what follows from them for the job: one transaction."""
    at = bench.engine.clock()
    for user in said:
        talks.say(db, user.talk, user.message)
    for answer, run in zip(accepted, ended, strict=True):
        for about, verdict in answer.verdicts:
            jobs.save_verdict(db, answer.row.key, about, verdict, at=at)
        runs.record_unit(db, answer.row.key, answer.row.case_id, run, at=at)
        if isinstance(run, Awaiting):
            assert run.asks == "human", "the caller has answered"
            request_approval(db, answer.row.key, answer.measure, run, new_id=f"{answer.row.key.run_id}:approval", at=at)
    rows = [
        unit_rows.rows_of(answer.row.key, answer.row.case_id, run) for answer, run in zip(accepted, ended, strict=True)
    ]
    tell_case_regressions(db, rows, rule=bench.engine.skills.run_test_case.parameters, at=at)
    counts = jobs.unit_counts(db, job.id)
    waiting = counts.get("awaiting-judgments", 0)
    left = job.total - sum(counts.values())
    if said:
        jobs.set_state(db, job.id, "stopped", reason=f"{_talks(len(said))} with the message of the user", at=at)
    elif waiting:
        users = talks.count_waiting(db, job.id)
        jobs.set_state(db, job.id, "awaiting-judgments", reason=waiting_reason(waiting - users, users), at=at)
    elif left:
        jobs.set_state(db, job.id, "stopped", reason=f"outputs not made or judged yet: {left}", at=at)
    elif job.kind == "test-case":
        jobs.set_state(db, job.id, "completed", at=at)
    else:
        conclude_job(db, engine=bench.engine, job=job, request=bench.request)
    if not (waiting or left):
        tell_asker(db, job.id, at=at)


def _talks(number: int) -> str:
    return "1 conversation can continue" if number == 1 else f"{number} conversations can continue"
