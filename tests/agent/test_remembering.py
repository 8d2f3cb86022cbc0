"""A failure is remembered whether or not a model can explain it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minions_evals_mcp.domain.neighbours import MemoryItem
from tests.agent.inside import QUICK, drained, kept, sent
from tests.agent.scripted import led_by_a_model
from tests.workshop import answer, case, outbox, save

UNSURE = "Part one is done. It took a day. Part two is another matter. I cannot help with that. Part three is done. See the log."


async def test_a_failure_is_remembered_though_the_model_that_would_explain_it_gives_no_answer(
    tmp_path: Path,
) -> None:
    async with led_by_a_model(tmp_path) as (engine, server):
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
