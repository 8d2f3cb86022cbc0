"""Whose a waiting output is: assigned, held while it is shown, and refused to everybody else."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.assignments import assign
from minions_evals_mcp.engine.people.judge_queue import hand_in, next_question
from minions_evals_mcp.engine.people.persons import add_person, change_role
from minions_evals_mcp.errors import BadInputError, ConflictError, NotFoundError
from minions_evals_mcp.judges.packets import GivenJudgment
from minions_evals_mcp.store.queries.judging.assignments import HELD
from tests.shared.view.visitor import waiting

ANNA, BEN = person("anna"), person("ben")


async def seen_by(engine: Engine, name: str, run_id: str) -> list[str]:
    """The packets that the person is asked about, one after the other."""
    found: list[str] = []
    while (look := await next_question(engine, run_id=run_id, after=found[-1] if found else "", person=name)).question:
        found.append(look.question.digest)
    return found


async def judged(engine: Engine, run_id: str, digest: str, by: str) -> None:
    question = (await next_question(engine, run_id=run_id)).question
    assert question is not None
    given = [GivenJudgment(criterion_id=one.id, score=1, rationale="it is quite right") for one in question.criteria]
    await hand_in(engine, run_id, digest, given, by=person(by))


@pytest.fixture
async def run_id(engine: Engine) -> str:
    """A run of five outputs that wait; anna and ben may judge."""
    job = await waiting(engine, 5)
    await add_person(engine, "ben", "judge")
    return job.id


async def test_what_is_assigned_is_divided_evenly_and_seen_by_its_person_alone(engine: Engine, run_id: str) -> None:
    assert (await assign(engine, run_id, ["anna", "BEN"])).outputs == {"anna": 3, "ben": 2}
    annas, bens = [await seen_by(engine, name, run_id) for name in ("anna", "ben")]
    assert (len(annas), len(bens), len({*annas, *bens})) == (3, 2, 5)
    assert (await next_question(engine, run_id=run_id, person="carl")).unasked == {"others": 5}
    with pytest.raises(ConflictError, match="is anna's task"):
        await judged(engine, run_id, annas[0], "ben")
    await judged(engine, run_id, annas[0], "anna")
    assert (await assign(engine, run_id, ["ben"])).outputs == {"ben": 4}, "what was judged is nobody's any more"
    assert (await assign(engine, run_id, [])).outputs == {}
    assert len(await seen_by(engine, "carl", run_id)) == 4


async def test_an_output_that_is_shown_is_held_and_comes_back_when_its_time_is_over(
    engine: Engine, run_id: str
) -> None:
    first = (await next_question(engine, run_id=run_id, person="anna")).question
    second = (await next_question(engine, run_id=run_id, person="ben")).question
    assert first is not None
    assert second is not None
    assert first.digest != second.digest
    again = (await next_question(engine, run_id=run_id, person="anna")).question
    assert again == first, "whoever reloads the page sees the same output"
    later = engine.clock() + HELD + timedelta(seconds=1)

    def clock() -> datetime:
        return later

    engine.clock = clock
    mine = (await next_question(engine, run_id=run_id, person="ben")).question
    assert mine is not None
    assert mine.digest in {first.digest, second.digest}
    await judged(engine, run_id, first.digest, "carl")  # a hold keeps nobody from answering: the first one counts


async def test_what_is_assigned_is_never_held_by_another(engine: Engine, run_id: str) -> None:
    await next_question(engine, run_id=run_id, person="anna")
    await assign(engine, run_id, ["ben"])
    assert (await next_question(engine, run_id=run_id, person="anna")).unasked == {"others": 5}
    assert len(await seen_by(engine, "ben", run_id)) == 5


async def test_only_known_people_who_may_judge_are_assigned_anything(engine: Engine, run_id: str) -> None:
    with pytest.raises(NotFoundError, match="zoe"):
        await assign(engine, run_id, ["anna", "zoe"])
    await change_role(engine, "ben", "viewer")
    with pytest.raises(BadInputError, match="ben is a viewer"):
        await assign(engine, run_id, ["ben"])
    await change_role(engine, "ben", "judge")
    for digest in await seen_by(engine, "ben", run_id):
        await judged(engine, run_id, digest, "ben")
    with pytest.raises(BadInputError, match=r"no output of the run .* waits"):
        await assign(engine, run_id, ["ben"])
