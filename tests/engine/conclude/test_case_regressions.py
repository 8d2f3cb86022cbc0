"""A test case that regresses is told at once, once for each prompt version and streak."""

from __future__ import annotations

from dataclasses import replace

from minions_evals_mcp.domain.neighbours import AgentMessage
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.context import Engine
from tests.workshop import Json, SteppingClock, answer, case, minion, outbox, save, try_case

GOOD_RUNS = 5


async def told(engine: Engine) -> list[Json]:
    """The payloads of the notifications of cases that regressed, oldest first."""
    rows = await outbox(engine, "agent-message")
    fields = [row.record.fields for row in rows]
    return [one.payload for one in fields if isinstance(one, AgentMessage) and one.type == "test-case-regression"]


async def said(engine: Engine, case_id: str, text: str, version: str | None = "p@2") -> None:
    """One more output of the case, judged."""
    assert isinstance(engine.clock, SteppingClock)
    ident = f"{case_id}/{engine.new_id()}"
    of_version: Json = {} if version is None else {"promptVersionRef": version}
    await save(engine, answer(ident, case_id, text, triggeredAt=iso(engine.clock()), **of_version))
    await try_case(engine, case_id, agent_run_id=ident, **of_version)


async def prompt_of(engine: Engine, *names: str) -> None:
    """Cases of the prompt `p`, each with a history of passes under its second version."""
    await save(
        engine,
        [minion(f"p@{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p") for n in (1, 2, 3)],
        [case(name, promptId="p", passRule="max_score", expectedOutputs={"output": "good"}) for name in names],
    )
    for name in names:
        for _ in range(GOOD_RUNS):
            await said(engine, name, "good")


async def test_a_regression_is_told_with_its_run_and_once_a_streak(engine: Engine) -> None:
    await prompt_of(engine, "a", "b")
    assert await told(engine) == []
    await said(engine, "a", "bad")
    (first,) = await told(engine)
    assert (first["promptId"], first["promptVersionRef"], first["promptVersion"]) == ("p", "p@2", 2)
    assert first["testCaseIds"] == ["a"]
    assert "test case a regressed (FAILED) under the prompt version p@2" in str(first["summary"])
    await said(engine, "a", "bad")
    await said(engine, "b", "bad")
    assert len(await told(engine)) == 1, "one streak of one version"
    for name in ("a", "b"):
        for _ in range(2 * GOOD_RUNS):
            await said(engine, name, "good")
    await said(engine, "b", "bad")
    assert [one["testCaseIds"] for one in await told(engine)] == [["a"], ["b"]], "a new streak"


async def test_each_version_has_streaks_of_its_own_and_a_case_without_a_prompt_too(engine: Engine) -> None:
    await prompt_of(engine, "a", "b")
    await save(engine, case("alone", expectedOutputs={"output": "good"}))
    for _ in range(GOOD_RUNS):
        await said(engine, "alone", "good", version=None)
    await said(engine, "a", "bad", version="p@2")
    await said(engine, "b", "bad", version="p@3")
    await said(engine, "alone", "bad", version=None)
    assert [(one["promptVersionRef"], one["testCaseIds"]) for one in await told(engine)] == [
        ("p@2", ["a"]), ("p@3", ["b"]), (None, ["alone"])
    ]  # fmt: skip


async def test_a_parameter_of_the_skill_turns_it_off(engine: Engine) -> None:
    skill = engine.skills.run_test_case
    quiet = skill.parameters.model_copy(update={"notify_regressions": False})
    engine.skills = replace(engine.skills, run_test_case=replace(skill, parameters=quiet))
    await prompt_of(engine, "a")
    await said(engine, "a", "bad")
    assert await told(engine) == []
