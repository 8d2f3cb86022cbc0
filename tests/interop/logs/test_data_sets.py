"""Every Eval Ever and Parquet: lines of one sample together, columns by their usual names, classes by theirs."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyarrow import parquet

from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.logs.sample import SkippedSample
from tests.shared.interop.log_parts import line
from tests.shared.interop.makers import Json, extra, foreign, kept, read, samples, written


def test_lines_of_one_sample_are_its_scores_and_a_score_again_is_another_epoch(tmp_path: Path) -> None:
    lines = [line("a", "exact", 1.0), line("b", "exact", 0.0), line("a", "tone", 0.5), line("a", "exact", 0.0)]
    log, _ = read(written(tmp_path / "x_samples.jsonl", lines), "every-eval-ever")
    assert (log.task, log.subject) == ("geo", "org/m")
    cases, runs = kept(tmp_path / "x_samples.jsonl")
    assert len({case.id for case in cases}) == 2
    told = sorted(
        (extra(run)["log"]["sample"], extra(run)["log"]["epoch"], [(one["name"], one["value"]) for one in foreign(run)])
        for run in runs
    )
    assert told == [("a", 1, [("exact", 1.0), ("tone", 0.5)]), ("a", 2, [("exact", 0.0)]), ("b", 1, [("exact", 0.0)])]
    assert cases[0].fields.expected_outputs == {"output": "Paris"}


def test_an_aggregate_says_that_its_samples_stand_elsewhere(tmp_path: Path) -> None:
    whole: Json = {
        "schema_version": "0.3.0",
        "evaluation_id": "geo/m/1",
        "evaluation_results": [{}, {}],
        "model_info": {"id": "org/m"},
    }
    _, items = read(written(tmp_path / "x.json", whole), "every-eval-ever-results")
    assert [type(one) for one in items] == [SkippedSample, SkippedSample]


def test_a_line_without_its_input_is_refused_by_its_number(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonl", [line("a", "exact", 1.0), line("b", "exact", 1.0, input={})])
    with pytest.raises(InvalidRecordError, match=r"x.jsonl:2: a line has"):
        samples(path)


def table(path: Path, columns: Json, features: Json | None = None) -> Path:
    made = cast("Any", pa).table(columns)  # pyarrow brings no types
    about = {b"huggingface": json.dumps({"info": {"features": features}}).encode()} if features else None
    cast("Any", parquet).write_table(made.replace_schema_metadata(about), path)
    return path


def test_rows_of_a_data_set_are_cases_by_the_columns_usual_names(tmp_path: Path) -> None:
    answers = [{"text": ["Paris", "paris"], "answer_start": [1, 2]}, {"text": ["Rome"], "answer_start": [1]}]
    path = table(
        tmp_path / "squad.parquet",
        {"id": ["x", "y"], "question": ["Where?", "Who?"], "context": ["C", "D"], "answers": answers, "level": [1, 2]},
    )
    cases, runs = kept(path, "parquet")
    assert not runs
    assert cases[0].fields.inputs == {"input": "Where?", "context": "C"}
    assert [one.value for one in cases[0].fields.assertions] == [["Paris", "paris"]]
    assert cases[1].fields.expected_outputs == {"output": "Rome"}
    assert (cases[0].fields.extra["sample"], cases[0].fields.extra["level"]) == ("x", 1)


def test_a_class_goes_by_its_name(tmp_path: Path) -> None:
    features = {"label": {"names": ["negative", "positive"], "_type": "ClassLabel"}}
    cases, _ = kept(table(tmp_path / "imdb.parquet", {"text": ["good", "bad"], "label": [1, 0]}, features))
    assert [case.fields.expected_outputs for case in cases] == [{"output": "positive"}, {"output": "negative"}]


def test_a_table_without_a_question_and_a_damaged_one_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no column is what is asked; there are x"):
        samples(table(tmp_path / "odd.parquet", {"x": [1]}))
    whole = table(tmp_path / "t.parquet", {"text": ["a"]}).read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole[:-10])
    with pytest.raises(InvalidRecordError, match=r"cut.parquet"):
        samples(cut)


def test_a_scenario_of_adk_is_played_and_calls_among_events_are_expected_tools(tmp_path: Path) -> None:
    persona = {"id": "p", "description": "Hasty.", "behaviors": [{"name": "b", "behavior_instructions": ["Be brief."]}]}
    scenario = {"starting_prompt": "Hi", "conversation_plan": "Book a room in Oslo.", "user_persona": persona}
    event = {"author": "a", "content": {"parts": [{"function_call": {"name": "roll", "args": {"sides": 6}}}]}}
    turn = {
        "user_content": {"parts": [{"text": "Roll"}]}, "final_response": {"parts": [{"text": "4"}]},
        "intermediate_data": {"invocation_events": [event, {"author": "a", "content": None}]},
    }  # fmt: skip
    cases = [{"eval_id": "s", "conversation_scenario": scenario}, {"eval_id": "c", "conversation": [turn]}]
    path = written(tmp_path / "a.evalset.json", {"eval_set_id": "a", "eval_cases": cases})
    played, recorded = kept(path, "adk-evalset")[0]
    talk = played.fields.conversation
    assert talk is not None
    assert (talk.player, talk.opening, talk.goal) == ("model", "Hi", "Book a room in Oslo.")
    assert talk.persona == "Hasty.\nBe brief."
    assert recorded.fields.extra["expectedTools"] == [{"name": "roll", "args": {"sides": 6}}]


@pytest.mark.parametrize("is_named", [True, False])
def test_conversations_of_adk_from_before_its_schema_are_read_as_those_of_today(tmp_path: Path, is_named: bool) -> None:
    turns: list[Json] = [
        {"query": "Which tables?", "expected_tool_use": [], "reference": "Two."},
        {
            "query": "And Spain?",
            "expected_tool_use": [{"tool_name": "db", "tool_input": {"q": 1}}],
            "reference": "Madrid.",
        },
    ]
    named: list[Json] = [{"name": "geo", "data": turns, "initial_state": {"state": {}}}]
    (sample,) = samples(written(tmp_path / "geo.test.json", named if is_named else turns), "adk-evalset")
    assert (sample.id, sample.targets) == ("geo", ("Madrid.",))
    said = [("user", "Which tables?"), ("assistant", "Two."), ("user", "And Spain?")]
    assert [(one["role"], one["content"]) for one in cast("Any", sample.inputs["messages"])] == said
    assert sample.extra["expectedTools"] == [{"name": "db", "args": {"q": 1}}]
    assert ("initial_state" in sample.extra) is is_named


def test_one_task_of_tau2_by_itself_is_read(tmp_path: Path) -> None:
    task: Json = {
        "id": "t1", "user_scenario": {"instructions": "Return the shoes."},
        "evaluation_criteria": {"nl_assertions": ["The agent confirms the return."]},
    }  # fmt: skip
    (sample,) = samples(written(tmp_path / "task_001.json", task), "tau2-tasks")
    assert sample.id == "t1"


CALL: Json = {"name": "look", "inputParameters": {"q": "é"}, "output": {"n": 1}}
GOLDENS: list[Json] = [
    {
        "input": "Where?",
        "actual_output": "In Paris",
        "expected_output": "Paris",
        "context": ["a", "b"],
        "tools_called": [CALL],
    },
    {
        "input": "Wo?",
        "expected_output": None,
        "additional_metadata": {"lang": "de"},
        "expected_tools": [{"name": "look"}],
    },
]
TALKS: list[Json] = [
    {
        "scenario": "wants a refund",
        "expected_outcome": "paid",
        "user_description": "hasty",
        "turns": [{"role": "user", "content": "Hi"}],
    },
    {"scenario": "asks", "expected_outcome": None, "turns": None, "context": ["30 days"]},
]


def _deepeval_table(path: Path, rows: list[Json]) -> Path:
    """The rows as DeepEval writes them to CSV: bars between texts of a list, mappings as JSON."""
    names = [*dict.fromkeys(["name", "actual_output", *(name for row in rows for name in row)])]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return path


def _cell(value: object) -> object:
    if isinstance(value, list) and all(isinstance(part, str) for part in cast("list[object]", value)):
        return "|".join(cast("list[str]", value))
    return json.dumps(value) if isinstance(value, list | dict) else "" if value is None else value


@pytest.mark.parametrize("rows", [GOLDENS, TALKS], ids=["single", "conversational"])
def test_a_table_of_goldens_says_what_its_json_says(tmp_path: Path, rows: list[Json]) -> None:
    (table, whole) = (samples(_deepeval_table(tmp_path / "g.csv", rows)), samples(written(tmp_path / "g.json", rows)))
    assert [replace(one, where="") for one in table] == [replace(one, where="") for one in whole]


def test_what_a_golden_was_answered_is_its_recorded_output(tmp_path: Path) -> None:
    cases, runs = kept(written(tmp_path / "g.json", GOLDENS))
    assert len(cases) == 2
    assert [run.fields.outputs for run in runs] == [{"output": "In Paris"}]
    log = runs[0].fields.tool_calls_log or []
    assert [(step.tool, step.arguments, step.result) for step in log] == [("look", {"q": "é"}, {"n": 1})]


@pytest.mark.parametrize(
    ("told", "persona", "beside"),
    [
        ({"user_description": "hasty", "persona": {"characteristics": "hasty"}}, "hasty", {}),
        ({"persona": {"name": "Ada", "characteristics": "calm"}}, "Ada\ncalm", {}),
        (
            {"persona": {"characteristics": "calm", "voice": "v"}},
            "calm",
            {"persona": {"characteristics": "calm", "voice": "v"}},
        ),
    ],
)
def test_the_persona_of_a_golden_plays_the_user(tmp_path: Path, told: Json, persona: str, beside: Json) -> None:
    (found,) = samples(written(tmp_path / "g.json", [{"scenario": "asks", "expected_outcome": "ok", **told}]))
    assert found.conversation is not None
    assert (found.conversation["persona"], found.extra) == (persona, beside)


TALK: Json = {"turns": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Bye"}]}
SINGLE: Json = {"input": "q", "actual_output": "a", "expected_output": "b"}
LISTED: dict[str, tuple[Json, int]] = {
    "conversations": ({"conversational_test_cases": [TALK, {**TALK, "expected_outcome": "says goodbye"}]}, 2),
    "beside empty lists": ({"goldens": [], "test_cases": [], "conversational_test_cases": [TALK]}, 1),
    "single": ({"test_cases": [SINGLE]}, 1),
    "both": ({"goldens": [{"input": "g", "expected_output": "b"}], "test_cases": [SINGLE]}, 1),
}


@pytest.mark.parametrize("name", LISTED)
def test_cases_of_deepeval_are_read_under_each_of_its_lists(tmp_path: Path, name: str) -> None:
    document, answered = LISTED[name]
    cases, runs = kept(written(tmp_path / "cases.json", document), "data-set")
    assert len(cases) == sum(len(part) for part in document.values())
    assert [run.fields.outputs["output"] for run in runs] == [
        "a" if "actual_output" in str(document) else "Bye"
    ] * answered


def test_a_run_of_deepeval_written_under_python_names_has_its_verdicts(tmp_path: Path) -> None:
    metric = {"name": "Right", "score": 0.9, "success": False, "threshold": 1.0}
    cases, runs = kept(
        written(tmp_path / "run.json", {"test_cases": [{**SINGLE, "name": "t", "metrics_data": [metric]}]}), "deepeval"
    )
    assert [check.type for check in cases[0].fields.assertions] == ["foreign-scorer"]
    assert [(score["name"], score["passed"]) for score in foreign(runs[0])] == [("Right", False)]


def test_rows_that_mlflow_evaluates_are_cases_with_their_expected_response(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"inputs": {"q": "France?"}, "expectations": {"expected_response": "Paris", "guidelines": ["short"]}},
        {"inputs": {"q": "Italy?"}, "expectations": {"expected_facts": ["Rome"]}, "outputs": "It is Rome", "tags": {"k": "v"}},
    ]  # fmt: skip
    cases, runs = kept(written(tmp_path / "rows.json", rows), "data-set")
    assert [(case.fields.inputs, case.fields.expected_outputs) for case in cases] == [
        ({"q": "France?"}, {"output": "Paris"}), ({"q": "Italy?"}, None),
    ]  # fmt: skip
    assert [case.fields.extra["expectations"] for case in cases] == [
        {"guidelines": ["short"]},
        {"expected_facts": ["Rome"]},
    ]
    assert [run.fields.outputs for run in runs] == [{"output": "It is Rome"}]
