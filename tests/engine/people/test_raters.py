"""Several people judge the same drawn outputs, and one decides where they differ."""

from __future__ import annotations

import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.licences.corrected import drawn_labels
from minions_evals_mcp.engine.people.agreement import judges_agreement
from minions_evals_mcp.engine.people.draws import adjudicate_labels, draw_labels
from minions_evals_mcp.engine.people.judge_queue import next_question
from minions_evals_mcp.engine.people.persons import add_person
from minions_evals_mcp.errors import BadInputError, NotFoundError
from tests.shared.engine.labelled import alternating, flipped, hand_in_all, judged_run, suite

SIZE, DRAWN = 20, 10


async def test_each_rater_judges_all_that_was_drawn_and_the_chance_counts_once(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    run = await judged_run(engine, truth)
    for name in ("anna", "ben", "carl"):
        await add_person(engine, name, "judge")
    drawn = await draw_labels(engine, run.id, number=DRAWN, triggered_by="me", raters=("anna", "ben"))
    assert [(queue.person, queue.waiting) for queue in drawn.raters] == [("anna", DRAWN), ("ben", DRAWN)]
    annas, bens = [queue.run_id for queue in drawn.raters]
    assert (await next_question(engine, run_id=annas, person="ben")).unasked == {"others": DRAWN}
    place = [int(name[1:]) for name in drawn.test_case_ids]
    differing = place[:3]
    await hand_in_all(engine, await get_job(engine, annas), truth, by="anna")
    await hand_in_all(
        engine,
        await get_job(engine, bens),
        [not one if n in differing else one for n, one in enumerate(truth)],
        by="ben",
    )
    labels = await engine.store.read(lambda db: drawn_labels(db, run.id))
    assert labels is not None
    assert labels.chance == DRAWN / SIZE
    assert {one.rater: one.found and one.found.agreed for one in (await judges_agreement(engine, "b")).raters} == {
        "anna": 0.7,
        "ben": 0.7,
    }

    asked = await adjudicate_labels(engine, "b", person="carl", triggered_by="me")
    assert (asked.person, asked.labelled, asked.differ, asked.waiting) == ("carl", DRAWN, 3, 3)
    await hand_in_all(engine, await get_job(engine, asked.run_id), truth, by="carl")
    labels = await engine.store.read(lambda db: drawn_labels(db, run.id))
    assert labels is not None
    assert labels.chance == DRAWN / SIZE
    assert len(labels.passed) == DRAWN
    assert {int(case[1:]): passed for (case, _), passed in labels.passed.items()} == {n: truth[n] for n in place}
    with pytest.raises(BadInputError, match=f"people agree on all {DRAWN} outputs"):
        await adjudicate_labels(engine, "b", person="carl", triggered_by="me")
    second = await draw_labels(engine, run.id, number=DRAWN, triggered_by="me")
    assert not {*second.test_case_ids} & {*drawn.test_case_ids}


async def test_nothing_is_drawn_for_people_whom_nobody_knows_or_where_nobody_rated_twice(engine: Engine) -> None:
    await suite(engine, 4)
    run = await judged_run(engine, flipped(alternating(4), 2))
    await add_person(engine, "anna")
    with pytest.raises(NotFoundError, match="zoe"):
        await draw_labels(engine, run.id, number=4, triggered_by="me", raters=("anna", "zoe"))
    drawn = await draw_labels(engine, run.id, number=4, triggered_by="me")
    assert drawn.of == 4, "nothing was drawn in vain"
    with pytest.raises(BadInputError, match="no output has been judged by two people"):
        await adjudicate_labels(engine, "b", person="anna", triggered_by="me")
