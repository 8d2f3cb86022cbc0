"""A failure is remembered whether or not a model can explain it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minions_evals_mcp.domain.neighbours import MemoryItem
from minions_evals_mcp.store.agent import inbox
from tests.agent.instructions.scripted import led_by_a_model
from tests.shared.agent.inside import QUICK, drained, kept, sent
from tests.workshop import answer, benchmark, case, outbox, save

UNSURE = "Part one is done. It took a day. Part two is another matter. I cannot help with that. Part three is done. See the log."


async def test_a_failure_is_remembered_though_the_model_that_would_explain_it_gives_no_answer(
    tmp_path: Path,
) -> None:
    async with led_by_a_model(tmp_path, explain=True) as (engine, server):
        server.canned = b"{}"
        await save(engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", UNSURE))
        await sent(engine, "m", "run-test-case", testCaseId="c")
        await drained(engine, rhythm=replace(QUICK, attempts=2))
        assert server.heard, "no model was asked"
        ((dead,),) = await engine.store.read(
            lambda db: db.execute("SELECT type FROM inbox WHERE state = 'dead'").fetchall()
        )
        assert dead == "test-run-recorded"
        (told,) = await outbox(engine, "memory-item")
        assert isinstance(told.record.fields, MemoryItem)
        assert told.record.fields.agent_id == "agent"
        assert told.record.fields.value
        assert (await kept(engine, "m")).state == "done"


async def test_no_model_is_asked_about_a_failure_where_the_operator_did_not_allow_it(tmp_path: Path) -> None:
    async with led_by_a_model(tmp_path) as (engine, server):
        await save(engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", UNSURE))
        await sent(engine, "m", "run-test-case", testCaseId="c", judge="heuristic")
        await drained(engine)
        await sent(engine, "again", "classify-failure", runId="message:m")
        await drained(engine)
        assert (await kept(engine, "again")).state == "done"
        assert not server.heard
        assert len(await outbox(engine, "memory-item")) == 1


async def test_the_agent_asks_no_oftener_than_its_day_allows_however_often_it_starts(tmp_path: Path) -> None:
    async with led_by_a_model(tmp_path, explain=True, explain_calls=2) as (engine, server):
        for name in "cde":
            await save(engine, case(name, expectedOutputs={"output": "good"}), answer(f"a-{name}", name, UNSURE))
            await sent(engine, name, "run-test-case", testCaseId=name, judge="heuristic")
            await drained(engine)
        assert server.heard is not None
        assert len(server.heard) == 2
        counted = await engine.store.read(lambda db: db.execute("SELECT calls FROM explained_day").fetchall())
        assert [calls for (calls,) in counted] == [2]
        assert len(await outbox(engine, "memory-item")) == 1, "the three say the same"


async def test_failures_that_are_looked_at_side_by_side_are_asked_about_no_oftener_than_the_day_allows(
    tmp_path: Path,
) -> None:
    async with led_by_a_model(tmp_path, explain=True, explain_calls=2) as (engine, server):
        names = "cdefg"
        cases = [case(name, expectedOutputs={"output": "good"}) for name in names]
        await save(engine, *cases, *(answer(f"a-{name}", name, UNSURE) for name in names), benchmark("b", *names))
        await sent(engine, "m", "run-benchmark", benchmarkId="b", judge="heuristic")
        await drained(engine)
        assert server.heard is not None
        assert len(server.heard) == 2
        assert (await engine.store.read(inbox.counts)).get("dead") is None
