"""Tasks of tau2-bench and examples of LangSmith become conversation cases; what needs their own code is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.to_thread
import pytest

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.tau2_tasks import OWN_CODE, PREPARED, USERS_TOOLS
from tests.shared.cli.terminal import Terminal
from tests.shared.interop.log_parts import TAU2, TAU2_TASK, tau2_simulation
from tests.shared.interop.makers import Json, foreign, kept, read, written
from tests.workshop import place_store

CRITERIA = TAU2_TASK["evaluation_criteria"]
assert isinstance(CRITERIA, dict)
CODED: Json = {**CRITERIA, "env_assertions": [{"func_name": "assert_ok"}]}
USERS: Json = {"actions": [{"name": "reboot", "arguments": {"a": 1}, "requestor": "user"}]}
REFUSED: list[tuple[Json, str]] = [
    ({"initial_state": {"initialization_actions": [{"func_name": "break_phone"}]}}, PREPARED),
    ({"evaluation_criteria": USERS}, USERS_TOOLS),
    ({"evaluation_criteria": CODED}, OWN_CODE),
    ({"evaluation_criteria": {"actions": []}}, OWN_CODE),
]


def test_a_task_is_a_conversation_that_a_model_plays(tmp_path: Path) -> None:
    for name, said in (("tasks.json", [TAU2_TASK]), ("whole.json", {"tasks": [TAU2_TASK]})):
        (case,), runs = kept(written(tmp_path / name, said), "tau2-tasks")
        assert runs == []
        talk = case.fields.conversation
        assert talk is not None
        assert (talk.player, talk.persona) == ("model", "In a hurry")
        assert talk.goal == "You want one more bag.\n\nYou are Ann Lee.\n\nPay by card."
        calls, said_by_agent, judged = case.fields.assertions
        assert calls.value == {"steps": [{"unordered": [{"name": "update_bags", "args": {"bags": 2}}]}]}
        assert [check.value for check in said_by_agent.assertions] == ["(?i)1,?6,?2,?8"]
        assert (judged.type, judged.value) == ("llm-rubric", "Agent adds a bag.")


def test_a_domains_tasks_are_its_own_and_have_their_splits_as_tags(tmp_path: Path) -> None:
    scenario = {**TAU2_TASK["user_scenario"], "instructions": {"domain": "airline", "reason_for_call": "One more bag"}}  # type: ignore[dict-item]
    both = [{**TAU2_TASK, "id": ident, "user_scenario": scenario} for ident in ("0", "1")]
    path = written(tmp_path / "tasks.json", both)
    written(tmp_path / "split_tasks.json", {"train": ["0"], "test": ["1"], "base": ["0", "1"]})
    assert read(path)[0].task == "airline"
    assert read(written(tmp_path / "tasks_small.json", both))[0].task == "airline-tasks_small"
    assert [case.fields.tags for case in kept(path)[0]] == [("imported", "train", "base"), ("imported", "test", "base")]


def test_results_of_tau2_in_a_folder_are_all_simulations_that_the_index_names(tmp_path: Path) -> None:
    folder = tmp_path / "gpt-retail"
    (folder / "simulations").mkdir(parents=True)
    index = [{"id": name, "task_id": "0", "trial": trial} for trial, name in enumerate(("a", "b"))]
    head: Json = {
        **TAU2,
        "simulations": None,
        "simulation_index": index,
        "info": {"environment_info": {"domain_name": "retail"}},
    }
    path = written(folder / "results.json", head)
    for trial, name in enumerate(("a", "b")):
        with pytest.raises(InvalidRecordError, match=f"lack simulation {name}"):
            kept(path)
        written(folder / "simulations" / f"{name}.json", tau2_simulation(float(trial), trial=trial))
    log, _ = read(path, "tau2")
    assert (log.id, log.task) == ("gpt-retail", "retail")
    assert [foreign(run)[0]["value"] for run in kept(path)[1]] == [0.0, 1.0]


@pytest.mark.parametrize(("more", "why"), REFUSED)
async def test_a_task_that_needs_tau2_bench_is_refused_by_name(tmp_path: Path, more: Json, why: str) -> None:
    place_store(tmp_path)
    at = Terminal(tmp_path)
    at.file("tasks.json", json.dumps([TAU2_TASK, {**TAU2_TASK, "id": "8", **more}]))
    ended = await anyio.to_thread.run_sync(at.run, "import", "tasks.json", "--json")
    assert ended.code == 0, ended
    assert why in ended.out + ended.err


@pytest.mark.parametrize(
    ("inputs", "player", "goal", "opening", "turns"),
    [
        ({"input": "Refund me!", "instructions": "You are upset."}, "model", "You are upset.", "Refund me!", ()),
        (
            {"persona": "You are polite.", "messages": [{"role": "user", "content": "hi"}]},
            "model",
            "You are polite.",
            "hi",
            (),
        ),
        ({"simulated_user_prompt": "You want a seat."}, "model", "You want a seat.", None, ()),
        ({"turns": ["Hello", "Order A1"]}, "script", "", None, ("Hello", "Order A1")),
    ],
)
def test_a_multi_turn_example_of_langsmith_is_a_conversation(
    tmp_path: Path, inputs: Json, player: str, goal: str, opening: str | None, turns: tuple[str, ...]
) -> None:
    example: Json = {"id": "e1", "dataset_id": "d", "inputs": inputs, "outputs": {"outcome": "No refund."}}
    (case,), _ = kept(written(tmp_path / "examples.json", [example]), "langsmith")
    talk = case.fields.conversation
    assert talk is not None
    assert (talk.player, talk.goal, talk.opening, talk.turns) == (player, goal, opening, turns)
    (check,) = case.fields.assertions
    assert (check.type, check.value) == ("llm-rubric", "No refund.")


@pytest.mark.parametrize(
    "inputs", [{"instructions": "Be brief."}, {"messages": [{"role": "user", "content": "a"}]}, {"turns": [1, 2]}]
)
def test_another_example_stays_one_question(tmp_path: Path, inputs: Json) -> None:
    example: Json = {"id": "e1", "dataset_id": "d", "inputs": inputs, "outputs": {"answer": "b"}}
    (case,), _ = kept(written(tmp_path / "examples.json", [example]), "langsmith")
    assert case.fields.conversation is None
