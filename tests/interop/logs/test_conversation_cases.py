"""Conversations of other tools become conversation cases: DeepEval's goldens are played, openevals' simulations are judged as they are."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.to_thread

from tests.shared.cli.terminal import Terminal
from tests.shared.interop.makers import Json, extra, foreign, kept, written
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


HELD: Json = {
    **GOLDEN,
    "turns": [
        {"role": "user", "content": "A ticket, please."},
        {"role": "assistant", "content": "Bought.", "retrieval_context": ["Prices"], "tools_called": [
            {"name": "buy", "input_parameters": {"count": 1}, "output": {"id": 7}, "reasoning": "asked"}]},
    ],
}  # fmt: skip


def test_a_saved_conversation_of_deepeval_is_judged_as_it_was_held(tmp_path: Path) -> None:
    as_text = {**HELD, "scenario": "Another", "turns": json.dumps(HELD["turns"])}
    nameless = {**HELD, "scenario": None, "expected_outcome": None}
    begun = {**GOLDEN, "scenario": "A greeting", "turns": [{"role": "assistant", "content": "Hello."}]}
    cases, runs = kept(written(tmp_path / "cases.json", [HELD, as_text, nameless, begun]), "data-set")
    assert [case.fields.conversation is not None for case in cases] == [True] * 4
    for run in runs:
        assert run.fields.outputs is not None
        assert run.fields.outputs["output"] == "Bought."
        assert [(step.tool, step.arguments, step.result) for step in run.fields.tool_calls_log or ()] == [
            ("buy", {"count": 1}, {"id": 7})
        ]
    assert [extra(run)["log"]["sample"] for run in runs] == [1, 2, 3]
    goals = [(talk.goal, talk.turns) for case in cases if (talk := case.fields.conversation)]
    assert goals[::2] == [(GOLDEN["scenario"], ()), ("", ("A ticket, please.",))]


def test_calls_within_the_turns_of_a_test_run_of_deepeval_are_its_calls(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "Hi", "order": 0},
        {"role": "assistant", "content": "Done", "order": 1, "toolsCalled": [
            {"name": "buy", "inputParameters": {"count": 2}, "output": "ok"}],
         "mcpToolsCalled": [{"name": "mail", "args": {"to": "a"}, "result": "sent"}]},
    ]  # fmt: skip
    run: Json = {
        "conversationalTestCases": [{"name": "c", "success": True, "order": 0, "metricsData": [], "turns": turns}]
    }
    _, (read,) = kept(written(tmp_path / "test_run.json", run), "deepeval")
    called = [(step.tool, step.arguments, step.result) for step in read.fields.tool_calls_log or ()]
    assert called == [("buy", {"count": 2}, "ok"), ("mail", {"to": "a"}, "sent")]


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
