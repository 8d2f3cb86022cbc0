"""An edited recorded output of a suite file is a new output, judged anew; nothing of the old one changes (HR1)."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.engine.cases.baselines import save_spooled, save_with_baselines
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, Saved, delete_record
from minions_evals_mcp.errors import RuleError
from tests.workshop import Json, answer, bench, benchmark, case, found, save

GOOD: Json = {"output": "good"}


async def _file(engine: Engine, *held: Record[Fields], lines: bool = False) -> Saved:
    """Imports a file that holds those, as a document or line by line."""
    arrivals = [Arrival(one) for one in held]
    if lines:
        return (await save_spooled(engine, iter(arrivals), by="cli"))[0]
    return (await save_with_baselines(engine, arrivals, by="cli"))[0]


async def _judged(engine: Engine) -> list[tuple[str | None, bool | None]]:
    """Which output a run of the benchmark judges, and whether it passes."""
    job = await bench(engine, "b")
    run = (await found(engine, f"{job.id}:1.1", TestRun)).fields
    return [(run.agent_run_id, run.passed)]


@pytest.mark.parametrize("lines", [False, True])
async def test_an_edit_is_a_new_output_and_taken_back_it_is_the_first_again(engine: Engine, *, lines: bool) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), benchmark("b", "c"))
    await _file(engine, answer("a", "c", "bad"), lines=lines)
    assert await _judged(engine) == [("a", False)]
    saved = await _file(engine, answer("a", "c", "good"), lines=lines)
    assert (saved.new, saved.changed, saved.unchanged) == (1, 0, 0)
    ((edition, passed),) = await _judged(engine)
    assert passed
    assert edition is not None
    assert saved.notes == (f"agent-run a was edited: it is kept as it was, hidden, and the new output is {edition}",)
    assert (await found(engine, "a", AgentRun)).fields.outputs == {"output": "bad"}
    assert await _file(engine, answer("a", "c", "good"), lines=lines) == Saved(0, 0, 1)
    await _file(engine, answer("a", "c", "bad"), lines=lines)
    assert await _judged(engine) == [("a", False)]
    await _file(engine, answer("a", "c", "good"), lines=lines)
    assert await _judged(engine) == [(edition, True)], "the same edit is the same output"


async def test_what_was_deleted_is_not_edited_under_its_id(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), benchmark("b", "c"), answer("a", "c", "bad"))
    await delete_record(engine, "a")
    await _file(engine, answer("a", "c", "good"))
    assert (await found(engine, "a", AgentRun)).fields.outputs == {"output": "bad"}
    ((edition, passed),) = await _judged(engine)
    assert (edition != "a", passed) == (True, True)


async def test_an_agent_edits_what_agents_handed_in_and_nothing_else(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), benchmark("b", "c"), answer("mine", "c", "bad"))
    agent = engine.speaking(Speaker(is_remote=True))
    with pytest.raises(RuleError, match="Save it under a new id"):
        await _file(agent, answer("mine", "c", "good"))
    await _file(agent, answer("its", "c", "bad"))
    await _file(agent, answer("its", "c", "good"))
    ((edition, passed),) = await _judged(engine)
    assert (str(edition).startswith("its:edit-"), passed) == (True, True)
