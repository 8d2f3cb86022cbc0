"""The queue of outputs that wait for a person: one at a time, blind to version and to every other verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Literal

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, request_of
from minions_evals_mcp.engine.judge.rounds import round_of, rounds
from minions_evals_mcp.engine.judge.yardstick import Measure, measures
from minions_evals_mcp.engine.people.assignments import hold
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.people.user_turns import packet_of_user
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Packet, Submission, packet, packet_digest
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.judges.user_packets import UserPacket
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.drafts import count_drafts
from minions_evals_mcp.store.queries.judging.assignments import own, was_assigned, whose
from minions_evals_mcp.store.queries.judging.waiting_outputs import Place, count_waiting, units_of_waiting, waiting

PAGE = 50
Unasked = Literal["no-rubric", "changed", "caller", "draft", "user", "user-person", "others"]
UNASKED: dict[Unasked, str] = {
    "no-rubric": f"without a rubric. Write one, or: {Next('accept-run', {'run_id': 'RUN:POSITION.TRIAL'}, 'accepts the output')}",
    "changed": "of a case or rubric that has changed since: run it again under a new key",
    "caller": "for the requesting agent to judge:"
    f" {Next('submit', reason='submits its judgments')}. A person judges under {argument('judge', 'human')}",
    "others": "assigned to other people, or being judged by them",
    "user": "with a user whom the requesting agent plays",
    "user-person": "with a user whom a person plays, on the page under Judge",
    "draft": "created from a failure and still without a correct output:"
    f" {Next('promote', {'failure_id': 'RUN:CASE', 'corrected': 'TEXT'}, 'gives it')}",
}


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One output to be judged by each of its criteria; it does not say which version or model made it."""

    run_id: str
    digest: str
    test_case_id: str
    title: str
    inputs: Json
    expected: Json | None
    output: Json
    criteria: tuple[Criterion, ...]
    packet: Packet


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """A conversation whose user a person plays: who that is, and what was said so far."""

    run_id: str
    title: str
    packet: UserPacket


@dataclass(slots=True, eq=False)
class QueueLook:
    """The next question, if there is one, or the next `user` to be played. `waiting`: all that waits, of `units` in those runs;
    `unasked`: what was passed over, and why.
    """

    waiting: int
    units: int = 0
    question: JudgeQuestion | None = None
    user: UserQuestion | None = None
    unasked: dict[Unasked, int] = field(default_factory=dict[Unasked, int])

    @property
    def place(self) -> Place | None:
        """The run and the packet of what is asked."""
        if self.question is not None:
            return self.question.run_id, self.question.digest
        return None if self.user is None else (self.user.run_id, self.user.packet.digest)


async def next_question(
    engine: Engine, *, run_id: str | None = None, after: str = "", plays: bool = False, person: str | None = None
) -> QueueLook:
    """The first output after that packet that a person can judge, of that run (or its key) or of all; who `plays` is also asked
    for messages of users. It is held for that `person` for a while, and what is others' is passed over.

    Raises `NotFoundError` where there is no such run.
    """
    ident = None if run_id is None else (await get_job(engine, run_id)).id
    seeing = partial(_next, run_id=ident, after=after, plays=plays, person=person, at=engine.clock())
    while True:
        look = await engine.store.read(seeing)
        place = look.place
        if person is None or place is None or await hold(engine, *place, person):
            return look


async def user_of(engine: Engine, run_id: str, digest: str) -> UserQuestion | None:
    """The user behind that packet whom a person plays; None where nobody is asked for a message any more."""
    asked = await engine.store.read(lambda db: _question(db, run_id, digest, {}, {}))
    return asked if isinstance(asked, UserQuestion) else None


async def question_of(engine: Engine, run_id: str, digest: str) -> JudgeQuestion | None:
    """The question behind that packet; None where nobody is asked it any more."""
    question = await engine.store.read(lambda db: _question(db, run_id, digest, {}, {}))
    return question if isinstance(question, JudgeQuestion) else None


def _next(db: Db, *, run_id: str | None, after: str, plays: bool, person: str | None, at: datetime) -> QueueLook:
    queue = QueueLook(count_waiting(db, run_id=run_id), units_of_waiting(db, run_id=run_id))
    known: dict[str, RubricInUse] = {}
    runs: dict[str, Job] = {}
    for job_id, digest in _places(db, run_id, after, person):
        if person is not None and whose(db, (job_id, digest), at=at) not in {None, person}:
            queue.unasked["others"] = queue.unasked.get("others", 0) + 1
            continue
        question = _question(db, job_id, digest, known, runs)
        if isinstance(question, JudgeQuestion):
            queue.question = question
            return queue
        if isinstance(question, UserQuestion):
            if plays:
                queue.user = question
                return queue
            question = "user-person"
        if question is not None:
            queue.unasked[question] = queue.unasked.get(question, 0) + 1
    if run_id is None and (drafts := count_drafts(db)):
        queue.unasked["draft"] = drafts
    return queue


def _places(db: Db, run_id: str | None, after: str, person: str | None) -> Iterator[Place]:
    """What waits after that packet: first what is assigned to the person, then what is anybody's or others'."""
    mine = [] if person is None else own(db, person, run_id=run_id)
    if mine and (not after or was_assigned(db, person or "", after)):
        yield from (place for place in mine if place[1] > after)
        after = ""
    while page := waiting(db, run_id=run_id, after=after, limit=PAGE):
        yield from (place for place in page if place not in mine)
        after = page[-1][1]


def _question(
    db: Db, job_id: str, digest: str, known: dict[str, RubricInUse], runs: dict[str, Job]
) -> JudgeQuestion | UserQuestion | Unasked | None:
    """The question as it was handed out, or why no person is asked; None where it does not wait."""
    row = jobs.unit_of_packet(db, job_id, digest)
    if row is None or row.outcome != "awaiting-judgments":
        return None
    (measure,) = measures(db, (row.case_id,), known)
    if row.observed is None:
        return _user(db, row, measure)
    rubric = measure.yardstick
    if not isinstance(rubric, RubricInUse):
        return "no-rubric"
    case = measure.case.fields
    work = Work(case.inputs, case.expected_outputs, row.observed)
    job = _job(db, job_id, runs)
    has_model = isinstance(job.spec["judgeModel"], str)
    asked = round_of(rounds(rubric, request_of(job).judge, has_model=has_model), row, work, rubric)
    if not asked.of_person:
        return "caller"
    criteria = asked.criteria
    if packet_digest(row.key, criteria, work) != digest:
        return "changed"
    waiting_packet = packet(row.key, row.case_id, criteria, work)
    return JudgeQuestion(
        job_id, digest, row.case_id, measure.case.title, case.inputs, case.expected_outputs, row.observed.output, criteria, waiting_packet
    )  # fmt: skip


def _user(db: Db, row: jobs.UnitRow, measure: Measure) -> UserQuestion | Unasked | None:
    """The user of a conversation that waits for a message of a person."""
    asked = packet_of_user(db, row, measure.case.fields)
    if asked is None:
        return None
    return UserQuestion(row.key.job_id, measure.case.title, asked) if asked.player == "person" else "user"


def _job(db: Db, job_id: str, runs: dict[str, Job]) -> Job:
    if job_id not in runs:
        job = jobs.job(db, job_id)
        assert job is not None, "a unit has a job"
        runs[job_id] = job
    return runs[job_id]


async def hand_in(engine: Engine, run_id: str, digest: str, judgments: Sequence[GivenJudgment], *, by: Speaker) -> Job:
    """The run as it stands with the judgments of one output by that person, whom the caller's door knows.

    Raises `ConflictError` where somebody else judged it first, `BusyError` where the run is worked on for long.
    """
    return await _handed_in(engine, run_id, AnsweredPacket(digest=digest, judgments=tuple(judgments)), by=by)


async def say(engine: Engine, run_id: str, digest: str, message: str, *, by: Speaker) -> Job:
    """The run as it stands with what the person says as the user; an empty message means that the user leaves.

    Raises as `hand_in` does, and `BadInputError` for a message that is none.
    """
    return await _handed_in(engine, run_id, AnsweredPacket(digest=digest, message=message), by=by)


async def _handed_in(engine: Engine, run_id: str, answered: AnsweredPacket, *, by: Speaker) -> Job:
    return await submit_judgments(engine.speaking(by), Submission(run_id=run_id, packets=(answered,)))
