"""Conversations of other tools become conversation cases: DeepEval's goldens are played, openevals' simulations are judged as they are."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.to_thread

from tests.shared.cli.terminal import Terminal
from tests.shared.interop.makers import Json, foreign, kept, written
from tests.workshop import place_store

GOLDEN: Json = {
    "scenario": "A person wants a ticket for tonight.", "expected_outcome": "A ticket is bought.",
    "user_description": "Ann, who is in a hurry.", "turns": None, "context": None,
}  # fmt: skip
SIMULATION: Json = {
    "trajectory": [
        {"role": "user", "content": "I want my money back.", "id": "1"}, {"role": "assistant", "content": "Your number?", "id": "2"},
        {"type": "human", "content": "It is A1.", "id": "3"}, {"type": "ai", "content": "Paid back, R-7.", "id": "4"},
    ],
    "evaluator_results": [{"key": "satisfaction", "score": True, "comment": "glad", "metadata": None}],
}  # fmt: skip


def test_a_conversational_golden_is_a_conversation_that_a_model_plays(tmp_path: Path) -> None:
    begun = {**GOLDEN, "scenario": "Another", "turns": json.dumps([{"role": "user", "content": "Hello there"}])}
    cases, runs = kept(written(tmp_path / "goldens.json", [GOLDEN, begun]))
    assert runs == []
    first, second = (case.fields.conversation for case in cases)
    assert first is not None
    assert second is not None
    assert (first.player, first.goal, first.persona) == ("model", GOLDEN["scenario"], GOLDEN["user_description"])
    assert (first.opening, second.opening) == (None, "Hello there")
    (check,) = cases[0].fields.assertions
    assert (check.type, check.value) == ("llm-rubric", "A ticket is bought.")


def test_a_simulation_of_openevals_is_a_conversation_with_its_recorded_answers(tmp_path: Path) -> None:
    for name, said in (("one.json", SIMULATION), ("several.json", [SIMULATION]), ("lines.jsonl", [SIMULATION])):
        (case,), (run,) = kept(written(tmp_path / name, said), "openevals")
        assert case.fields.conversation is not None
        assert case.fields.conversation.turns == ("I want my money back.", "It is A1.")
        outputs = run.fields.outputs
        assert outputs is not None
        assert outputs["output"] == "Paid back, R-7."
        messages = outputs["messages"]
        assert isinstance(messages, list)
        assert [message["role"] for message in messages if isinstance(message, dict)] == ["user", "assistant"] * 2
        (score,) = foreign(run)
        assert (score["name"], score["value"], score["explanation"]) == ("satisfaction", True, "glad")


async def test_it_is_judged_without_being_played_again(tmp_path: Path) -> None:
    place_store(tmp_path)
    at = Terminal(tmp_path)
    at.file("sim.json", json.dumps(SIMULATION))
    assert (await anyio.to_thread.run_sync(at.run, "import", "sim.json")).code == 0
    listed = at.run("list", "benchmark", "--json").out
    ident = json.loads(listed)["records"][0]["id"]
    ended = at.run("run-benchmark", str(ident), "--json")
    assert ended.one()["outcomes"] == {"scored": 1}, ended
    shown = at.run("show", f"{ended.one()['runId']}:1.1").out
    assert "user   It is A1." in shown
