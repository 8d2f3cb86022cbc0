"""Who judges what: the outputs of a run that wait are divided among people, and one that is shown is held for its reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import cycle

from minions_evals_mcp.domain.speaker import Role
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.errors import BadInputError, ConflictError, NotFoundError
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import records, speakers
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.judging import assignments
from minions_evals_mcp.store.queries.judging.waiting_outputs import waiting

MOST = 1_000_000


class Assigned(Value):
    """How many waiting outputs of a run each person has to judge; empty where they are anybody's."""

    run_id: str
    outputs: dict[str, int]


class Share(Value):
    """A person who may judge, and how many waiting outputs of a run are theirs."""

    name: str
    role: Role
    outputs: int


class JudgingShares(Value):
    """Who judges what of a run: each person's share, and how many outputs are anybody's."""

    run_id: str
    title: str
    shares: tuple[Share, ...]
    unassigned: int


async def judging_shares(engine: Engine, run_id: str) -> JudgingShares:
    """Who judges what of the run's outputs that wait; raises `NotFoundError` where there is no such run."""
    job = await get_job(engine, run_id)

    def read(db: Db) -> JudgingShares:
        held = assignments.shares(db, job.id)
        judges = [one for one in speakers.people(db) if one.role != "viewer"]
        subject = records.find(db, job.subject_id)
        return JudgingShares(
            run_id=job.id,
            title=job.subject_id if subject is None else subject.title,
            shares=tuple(Share(name=one.name, role=one.role, outputs=held.get(one.name, 0)) for one in judges),
            unassigned=held.get(None, 0),
        )

    return await engine.store.read(read)


async def assign(engine: Engine, run_id: str, people: Sequence[str]) -> Assigned:
    """Divides the outputs of the run that wait among those people, in turn; without people they are anybody's again.

    Raises `NotFoundError` for a person whom the store does not know, `BadInputError` for a viewer or where nothing waits.
    """
    job = await get_job(engine, run_id)
    at = engine.clock()

    def divide(db: Db) -> Assigned:
        assignments.take_back(db, job.id)
        if not people:
            return Assigned(run_id=job.id, outputs={})
        named = [judging_person(db, name) for name in people]
        places = waiting(db, run_id=job.id, limit=MOST)
        if not places:
            raise BadInputError(f"no output of the run {job.id} waits for a judgment.", remedy=_draw(job.id))
        mine = list(zip(places, cycle(named), strict=False))
        assignments.assign(db, mine, at=at)
        outputs = dict(Counter(name for _, name in mine))
        append(db, Event("judging-assigned", job.kind, job.id, {**outputs}), at=at)
        return Assigned(run_id=job.id, outputs=outputs)

    return await engine.store.write(divide)


async def hold(engine: Engine, run_id: str, digest: str, person: str) -> bool:
    """Holds an output for the person to whom it is shown; False where it is somebody else's by now."""
    if engine.config.read_only:
        return True
    return await engine.store.write(partial(assignments.hold, place=(run_id, digest), person=person, at=engine.clock()))


async def vet_assignment(engine: Engine, job: Job, submission: Submission) -> None:
    """Refuses a person's answer about an output that is assigned to somebody else. One that is only held goes to the first."""
    speaker = engine.speaker
    if not speaker.is_person:
        return

    def taken(db: Db) -> tuple[str, str] | None:
        for packet in submission.packets:
            owner = assignments.assigned_to(db, (job.id, packet.digest))
            if owner not in {None, speaker.name}:
                return packet.digest, str(owner)
        return None

    others = await engine.store.read(taken)
    if others is not None:
        digest, owner = others
        again = Next("people-assign", {"run_id": job.id, "people": "NAME"}, "reassigns the waiting outputs")
        raise ConflictError(
            f"judgment request {digest} is {owner}'s task.",
            remedy=f"{Next('judge', reason='shows what is yours')}. {again}.",
        )


def judging_person(db: Db, name: str) -> str:
    """The known person of that name who may judge; raises `NotFoundError`, and `BadInputError` for a viewer."""
    known = next((one for one in speakers.people(db) if one.name.casefold() == name.strip().casefold()), None)
    if known is None:
        raise NotFoundError("person", name, remedy=f"{Next('people-list', reason='shows who is known')}.")
    if known.role == "viewer":
        raise BadInputError(
            f"{known.name} is a viewer, and viewers cannot judge.",
            remedy=f"{Next('people-role', {'name': known.name, 'role': 'judge'}, 'lets them judge')}.",
        )
    return known.name


def _draw(run_id: str) -> str:
    return f"{Next('rejudge', {'run_id': run_id, 'judge': 'human'}, 'asks people about its outputs')}."
