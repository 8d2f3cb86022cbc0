"""What a person is asked: one output at a time, in an order that tells nothing, and handed in whole."""

from __future__ import annotations

import anyio
import pytest

from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, working_on
from minions_evals_mcp.engine.people.judge_queue import JudgeQuestion, hand_in, next_question, question_of
from minions_evals_mcp.errors import BusyError, ConflictError, NotFoundError
from minions_evals_mcp.judges.packets import GivenJudgment
from tests.hang import HANG_S
from tests.shared.view.visitor import TWO, waiting
from tests.workshop import Json, answer, bench, benchmark, case, judgments, rubric, save


async def queue(engine: Engine, run_id: str | None = None) -> list[JudgeQuestion]:
    """All that a person is asked, in order."""
    found = await next_question(engine, run_id=run_id)
    asked: list[JudgeQuestion] = []
    while found.question is not None:
        asked.append(found.question)
        found = await next_question(engine, run_id=run_id, after=found.question.digest)
    return asked


def given(question: JudgeQuestion, *scores: float) -> list[GivenJudgment]:
    """Those scores for the question's criteria."""
    return [
        GivenJudgment(criterion_id=one.id, score=score, rationale="I read it.")
        for one, score in zip(question.criteria, scores, strict=True)
    ]


async def test_the_outputs_of_several_versions_come_mixed_and_always_in_the_same_order(engine: Engine) -> None:
    names = [f"c{n}" for n in range(12)]
    await save(engine, rubric("r", 2, **TWO), [case(name, rubricId="r") for name in names], benchmark("b", *names))
    for version in ("v1", "v2"):
        await save(
            engine, [answer(f"{version}/{name}", name, f"{version} {name}", promptVersionRef=version) for name in names]
        )
        await bench(engine, "b", prompt_version_ref=version)
    asked = await queue(engine)
    versions = "".join(str(one.output["output"])[:2] for one in asked)
    assert len(asked) == 24
    assert "v1" * 12 not in versions
    assert "v2" * 12 not in versions
    assert asked == await queue(engine)
    assert (await next_question(engine)).waiting == 24


async def test_a_question_says_what_to_judge_by_and_not_who_made_the_output(engine: Engine) -> None:
    await waiting(engine)
    (asked,) = await queue(engine)
    assert asked.inputs == {"q": "c0"}
    assert asked.expected == {"output": "good"}
    assert asked.output == {"output": "Output of c0."}
    assert [one.fields.scoring_guide for one in asked.criteria] == ["1 is warm", ""]
    assert "p@7" not in str(asked)


async def test_handing_in_completes_the_output_and_the_queue_goes_on(engine: Engine) -> None:
    job = await waiting(engine, 2)
    one, other = await queue(engine, job.id)
    await hand_in(engine, job.id, one.digest, given(one, 1, 5), by=person("anna"))
    assert [left.digest for left in await queue(engine, job.id)] == [other.digest]
    assert await question_of(engine, job.id, one.digest) is None
    await hand_in(engine, job.id, other.digest, given(other, 0, 0), by=person("anna"))
    assert (await get_job(engine, job.id)).state == "completed"
    made = await judgments(engine, f"{job.id}:1.1")
    assert {one.judged_by_type for one in made.values()} == {"human"}


async def test_what_somebody_else_judged_first_is_refused(engine: Engine) -> None:
    job = await waiting(engine, 2)
    one, _ = await queue(engine)
    await hand_in(engine, job.id, one.digest, given(one, 1, 5), by=person("anna"))
    with pytest.raises(ConflictError, match="already judged"):
        await hand_in(engine, job.id, one.digest, given(one, 0, 0), by=person("bob"))


async def test_a_run_that_is_worked_on_is_waited_for_and_in_the_end_said_to_be_busy(engine: Engine) -> None:
    job = await waiting(engine)
    (one,) = await queue(engine)
    async with working_on(engine, job):
        with anyio.fail_after(HANG_S), pytest.raises(BusyError):
            await hand_in(engine, job.id, one.digest, given(one, 1, 5), by=person("anna"))
    await hand_in(engine, job.id, one.digest, given(one, 1, 5), by=person("anna"))


NO_KEY: Json = {"description": "Is it kind?"}


async def test_what_waits_for_the_calling_agent_for_a_rubric_or_was_changed_is_counted_and_asked_of_nobody(
    engine: Engine,
) -> None:
    await save(engine, rubric("r", 0.5, tone=NO_KEY), rubric("h", 2, **TWO))
    await save(
        engine, case("llm", rubricId="r"), case("bare"), case("old", rubricId="h"), benchmark("b", "llm", "bare", "old")
    )
    await save(engine, [answer(f"a/{name}", name, "Hi") for name in ("llm", "bare", "old")])
    await bench(engine, "b")
    await save(engine, case("old", rubricId="h", expectedOutputs={"output": "new"}))
    found = await next_question(engine)
    assert (found.question, found.waiting) == (None, 3)
    assert found.unasked == {"caller": 1, "no-rubric": 1, "changed": 1}


async def test_the_queue_of_a_run_that_does_not_exist_is_an_error(engine: Engine) -> None:
    with pytest.raises(NotFoundError):
        await next_question(engine, run_id="none")
