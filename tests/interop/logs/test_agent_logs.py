"""tau-bench, ATIF, DeepEval, Langfuse, MLflow, LangSmith: each sample, score and call, and damaged files refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.table import matching, sniff
from minions_evals_mcp.interop.logs.sample import SkippedSample
from minions_evals_mcp.interop.score_rows import vetted
from tests.shared.interop.log_parts import DEEPEVAL, TAU, TAU2, TRACE, observation, tau2_simulation
from tests.shared.interop.makers import Json, extra, foreign, kept, read, samples, written


def test_a_trial_of_tau_bench_is_an_epoch_with_its_calls_gold_actions_and_reward(tmp_path: Path) -> None:
    path = written(tmp_path / "gpt-4o-airline.json", [TAU, {**TAU, "trial": 0, "reward": 0.0}])
    log, _ = read(path, "tau-bench")
    assert (log.task, log.subject) == ("airline", "gpt-4o")
    cases, runs = kept(path)
    assert len({case.id for case in cases}) == 1
    assert cases[0].fields.inputs == {"instruction": "Change the seat.", "user_id": "mia"}
    verdict, measured, reading = cases[0].fields.assertions
    assert (verdict.type, verdict.value) == ("foreign-scorer", {"tool": "tau-bench", "scorer": "reward"})
    assert (reading.weight, reading.metric) == (0, "state rule")
    assert measured.weight == 0  # another way to the same state of the database passes
    assert measured.value == {"steps": [{"unordered": [{"name": "find", "args": {"id": 7}}]}]}
    assert [(extra(run)["log"]["epoch"], foreign(run)[0]["value"]) for run in runs] == [(2, 1.0), (1, 0.0)]
    (step,) = list(runs[0].fields.tool_calls_log or ())
    assert (step.tool, step.arguments, step.result) == ("find", {"id": 7}, "12A")
    assert extra(runs[0])["info"] == {"source": "user", "user_cost": 0.01}


@pytest.mark.parametrize(
    ("reward", "ending", "passed"),
    [
        (1.0, "user_stop", True), (1 - 5e-7, "user_stop", True), (0.99, "user_stop", False), (0.5, "user_stop", False),
        (0.0, "max_steps", False), (0.0, "too_many_errors", False), (None, "agent_error", None),
        (0.0, "infrastructure_error", None), (1.0, "user_error", None),
    ],
)  # fmt: skip
def test_a_simulation_of_tau2_succeeds_by_its_reward_and_an_instruments_failure_is_none(
    tmp_path: Path, reward: float | None, ending: str, passed: bool | None
) -> None:
    path = written(tmp_path / "results.json", {**TAU2, "simulations": [tau2_simulation(reward, ending)]})
    log, _ = read(path, "tau2")
    assert (log.task, log.subject) == ("airline", "gpt-x")
    (case,), (run,) = kept(path)
    assert case.fields.inputs == {"instruction": {"reason_for_call": "seat"}}
    assert [check.value for check in case.fields.assertions] == [
        {"tool": "tau2", "scorer": "reward"},
        {"steps": [{"unordered": [{"name": "find", "args": {"id": 7}}]}]},
        {"tool": "tau2", "scorer": "state rule"},
    ]
    assert [one["passed"] for one in foreign(run)] == ([] if passed is None else [passed, True])
    assert (run.fields.status == "failed") == (passed is None)
    (step,) = list(run.fields.tool_calls_log or ())
    assert (step.tool, step.arguments, step.result) == ("find", {"id": 7}, "12A")


def test_trials_of_tau2_are_epochs_of_one_case(tmp_path: Path) -> None:
    trials: list[JsonValue] = [tau2_simulation(0.5, trial=trial) for trial in range(2)]
    cases, runs = kept(written(tmp_path / "r.json", {**TAU2, "simulations": trials}))
    assert len({case.id for case in cases}) == 1
    assert [extra(run)["log"]["epoch"] for run in runs] == [1, 2]


def test_a_conversation_without_calls_is_a_log_of_none(tmp_path: Path) -> None:
    silent = {**TAU, "traj": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "No."}]}
    _, (run,) = kept(written(tmp_path / "x-airline.json", [silent]))
    assert run.fields.tool_calls_log == ()


def test_more_gold_actions_than_can_be_looked_for_in_any_order_are_wanted_in_theirs(tmp_path: Path) -> None:
    gold = [{"name": "find", "kwargs": {"id": number}} for number in range(9)]
    said = {**TAU, "info": {"task": {"instruction": "Many.", "actions": gold}}}
    (sample,) = samples(written(tmp_path / "x-airline.json", [said]))
    vetted(sample.assertions[1], 0)  # what would be refused would refuse the whole file
    assert len(cast("Json", sample.assertions[1]["value"])["steps"]) == 9


def test_a_test_run_of_deepeval_brings_cases_conversations_and_metrics(tmp_path: Path) -> None:
    for name, said in (("test_run_1.json", DEEPEVAL), ("latest.json", {"testRunData": DEEPEVAL})):
        path = written(tmp_path / name, said)
        log, _ = read(path, "deepeval")
        assert (log.task, log.subject) == ("geo", "gpt-x")
        cases, runs = kept(path)
        assert cases[0].fields.inputs == {"input": "France?", "retrievalContext": ["ctx"]}
        assert cases[0].fields.expected_outputs == {"output": "Paris"}
        assert [check.value for check in cases[0].fields.assertions] == [{"tool": "deepeval", "scorer": "Relevancy"}]
        assert [run.fields.outputs for run in runs] == [{"output": "Paris"}, {"output": "Hello"}]
        assert foreign(runs[0]) == [
            {
                "name": "Relevancy",
                "value": 0.5,
                "foreign": True,
                "passed": True,
                "explanation": "fine",
                "threshold": 0.4,
            }
        ]
        assert [(step.tool, step.result) for step in runs[0].fields.tool_calls_log or ()] == [("find", "r")]
        assert (runs[0].fields.cost, extra(runs[0])["rest"]) == (0.25, {"order": 0, "odd": 1})


def test_what_deepevals_evaluate_returns_is_the_same_run(tmp_path: Path) -> None:
    returned: Json = {
        "test_results": [
            {"name": "t0", "success": False, "conversational": False, "index": 0, "input": "q", "actual_output": "a",
             "expected_output": "e", "retrieval_context": ["c"], "turns": None, "metadata": None,
             "metrics_data": [{"name": "Len", "threshold": 0.5, "success": False, "score": 0.1, "reason": "short"},
                              {"name": "Judge", "threshold": 0.5, "success": False, "score": None, "error": "broke"}]},
            {"name": "t1", "success": True, "conversational": True, "index": 1, "metrics_data": [],
             "turns": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]},
        ],
        "confident_link": None, "test_run_id": "r",
    }  # fmt: skip
    cases, runs = kept(written(tmp_path / "returned.json", returned))
    assert cases[0].fields.inputs == {"input": "q", "retrievalContext": ["c"]}
    assert cases[0].fields.expected_outputs == {"output": "e"}
    assert [run.fields.outputs for run in runs] == [{"output": "a"}, {"output": "yo"}]
    length, judged = foreign(runs[0])
    assert (length["name"], length["value"], length["passed"], judged["error"]) == ("Len", 0.1, False, "broke")


def test_an_mlflow_trace_brings_feedback_as_scores_and_expectations_as_targets(tmp_path: Path) -> None:
    for name, said in (("t.json", [TRACE]), ("t.jsonl", [TRACE]), ("one.json", TRACE)):
        (case,), (run,) = kept(written(tmp_path / name, said), "mlflow")
        assert (case.fields.inputs, case.fields.expected_outputs) == ({"input": "Q"}, {"output": "A1"})
        assert run.fields.outputs == {"output": "A1"}
        assert [(one["name"], one["value"], one["explanation"]) for one in foreign(run)] == [("quality", 0.5, "so so")]
        assert [(step.tool, step.arguments, step.result) for step in run.fields.tool_calls_log or ()] == [
            ("find", {"q": 1}, [2])
        ]


def test_a_row_of_mlflows_search_holds_its_trace_as_a_text(tmp_path: Path) -> None:
    row: Json = {"trace_id": "t", "trace": json.dumps(TRACE), "request": {"a": 1}, "assessments": []}
    (case,), (run,) = kept(written(tmp_path / "rows.jsonl", [row]), "mlflow")
    assert (case.fields.inputs, run.fields.outputs) == ({"input": "Q"}, {"output": "A1"})


@pytest.mark.parametrize("first", [True, False])
def test_an_assessment_of_mlflow_that_was_overridden_decides_nothing(tmp_path: Path, *, first: bool) -> None:
    judged: Json = {
        "assessment_name": "correct",
        "feedback": {"value": True},
        "source": {"source_type": "LLM_JUDGE"},
        "valid": False,
    }
    human: Json = {
        "assessment_name": "correct",
        "feedback": {"value": False},
        "source": {"source_type": "HUMAN"},
        "valid": True,
    }
    both = [judged, human] if first else [human, judged]
    trace = {**TRACE, "info": {**cast("Json", TRACE["info"]), "assessments": both}}
    (case,), (run,) = kept(written(tmp_path / "t.json", [trace]), "mlflow")
    assert [(one["name"], one["value"]) for one in foreign(run)] == [("correct", False)]
    assert case.fields.assertions == ()  # what people say is a label
    assert [one["source"] for one in cast("list[Json]", extra(run)["overridden"])] == [{"source_type": "LLM_JUDGE"}]


def test_langfuse_rows_of_one_trace_are_put_together_with_their_scores(tmp_path: Path) -> None:
    root = observation("a", name="agent", input={"q": 1}, output="A")
    tool = observation(
        "b",
        type="TOOL",
        name="find",
        parentObservationId="a",
        input={"k": 1},
        output=[2],
        endTime="2026-11-20T10:00:01Z",
    )
    model = observation(
        "c", type="GENERATION", parentObservationId="a", usageDetails={"input": 5, "output": 2}, totalCost=0.5
    )
    score = {
        "id": "s",
        "name": "tone",
        "dataType": "NUMERIC",
        "value": 0.5,
        "comment": "ok",
        "subject": {"kind": "trace", "id": "t1"},
    }
    lost = {**score, "subject": {"kind": "trace", "id": "elsewhere"}}
    path = written(tmp_path / "rows.jsonl", [score, root, tool, lost, model])
    _, items = read(path, "langfuse")
    assert sum(isinstance(one, SkippedSample) for one in items) == 1
    _, (run,) = kept(path)
    assert (run.fields.inputs, run.fields.outputs) == ({"q": 1}, {"output": "A"})
    assert (run.fields.tokens_used, run.fields.cost) == (7, 0.5)
    assert [(step.tool, step.arguments, step.result, step.duration_ms) for step in run.fields.tool_calls_log or ()] == [
        ("find", {"k": 1}, [2], 1000)
    ]
    assert [(one["name"], one["value"], one["explanation"]) for one in foreign(run)] == [("tone", 0.5, "ok")]


@pytest.mark.parametrize(
    ("kind", "value", "words", "kept"),
    [
        ("TEXT", 0, "well put", "well put"), ("CATEGORICAL", 2, "polite", "polite"), ("BOOLEAN", 1, "True", 1),
        ("NUMERIC", 0.5, None, 0.5), ("NUMERIC", None, "n/a", "n/a"), (None, 0.5, "half", 0.5), ("LATER", 0, "so", "so"),
    ],
)  # fmt: skip
def test_a_score_of_langfuse_in_words_is_kept_in_words(
    tmp_path: Path, kind: str | None, value: float | None, words: str | None, kept: object
) -> None:
    """Beside a text Langfuse writes the number 0, beside a category its index."""
    score = {"name": "s", "traceId": "t", "dataType": kind, "value": value, "stringValue": words}
    trace = {"id": "t", "input": "q", "output": "a", "scores": [score], "observations": []}
    [sample] = samples(written(tmp_path / "traces.json", [trace]), "langfuse")
    assert sample.produced is not None
    assert [held.value for held in sample.produced.scores] == [kept]


def test_langfuse_traces_with_all_inside_and_items_of_data_sets_are_read(tmp_path: Path) -> None:
    trace: Json = {
        "id": "t1",
        "timestamp": "2026-11-20T10:00:00Z",
        "projectId": "p",
        "name": "agent",
        "input": "Q",
        "output": "A",
        "observations": [observation("b", type="TOOL", name="find")],
        "totalCost": 0.5,
        "latency": 2,
        "scores": [{"name": "tone", "dataType": "CATEGORICAL", "value": 1, "stringValue": "good"}],
    }
    _, (run,) = kept(written(tmp_path / "t.json", {"data": [trace], "meta": {}}), "langfuse")
    assert (run.fields.cost, foreign(run)[0]["value"], len(run.fields.tool_calls_log or ())) == (0.5, "good", 1)
    item = {
        "id": "i",
        "status": "ACTIVE",
        "input": {"q": 1},
        "expectedOutput": {"a": "x"},
        "datasetId": "d",
        "datasetName": "geo",
    }
    (case,), runs = kept(written(tmp_path / "i.jsonl", [item]), "langfuse")
    assert (case.fields.inputs, case.fields.expected_outputs, runs) == ({"q": 1}, {"a": "x"}, [])


def test_langsmith_roots_are_samples_and_their_tools_steps(tmp_path: Path) -> None:
    root = {
        "id": "r",
        "trace_id": "r",
        "run_type": "chain",
        "name": "agent",
        "inputs": {"q": 1},
        "outputs": {"answer": "A"},
        "error": None,
        "feedback_stats": {"correct": {"n": 2, "avg": 0.5}},
        "tags": ["x"],
    }
    tool = {
        "id": "c",
        "trace_id": "r",
        "parent_run_id": "r",
        "run_type": "tool",
        "name": "find",
        "inputs": {"k": 1},
        "outputs": {"output": "y"},
    }
    orphan = {**tool, "trace_id": "z"}
    path = written(tmp_path / "runs.jsonl", [tool, root, orphan])
    _, items = read(path, "langsmith")
    assert sum(isinstance(one, SkippedSample) for one in items) == 1
    _, (run,) = kept(path)
    assert run.fields.outputs == {"output": "A"}
    assert [(step.tool, step.result) for step in run.fields.tool_calls_log or ()] == [("find", "y")]
    assert [(one["name"], one["value"], one["n"]) for one in foreign(run)] == [("correct", 0.5, 2)]
    example = {"id": "e", "dataset_id": "d", "inputs": {"q": 1}, "outputs": {"answer": "A"}, "metadata": {"m": 1}}
    (case,), _ = kept(written(tmp_path / "examples.json", {"examples": [example]}), "langsmith")
    assert (case.fields.expected_outputs, case.fields.extra["metadata"]) == ({"answer": "A"}, {"m": 1})


def _feedback(key: str, score: JsonValue, *, example: bool = True, **about: JsonValue) -> Json:
    run: Json = {"run_type": "chain", "session_id": "s", "inputs": {"q": 1}, "outputs": {"answer": "A"}, **about}
    return {**run, **({"reference_example_id": "e"} if example else {}), "feedback": [{"key": key, "score": score}]}


@pytest.mark.parametrize("example", [True, False])
@pytest.mark.parametrize(("scores", "is_grade"), [((1, 0), False), ((True, False), False), ((1, 0.4), True)])
def test_feedback_judges_the_runs_of_an_experiment_alone(
    tmp_path: Path, scores: tuple[JsonValue, ...], *, is_grade: bool, example: bool
) -> None:
    """A number between 0 and 1 has no pass mark there; a run that an evaluator left out is judged by nothing else."""
    rows = [
        _feedback("right", score, id=f"r{at}", trace_id=f"r{at}", example=example) for at, score in enumerate(scores)
    ]
    rows.append({**_feedback("right", None, id="r9", trace_id="r9", example=example), "feedback": []})
    cases, runs = kept(written(tmp_path / "runs.jsonl", rows), "langsmith")
    named = [[cast("Json", check.value)["scorer"] for check in case.fields.assertions] for case in cases]
    assert named == [["right"] if example else []] * 3
    assert [one.get("isGrade", False) for run in runs for one in foreign(run)] == [is_grade and example] * 2


@pytest.mark.parametrize(
    ("row", "is_example"),
    [
        ({"inputs": {"q": 1}, "outputs": {"answer": "A"}}, True),
        ({"id": "e", "inputs": {"q": 1}, "outputs": {"answer": "A"}, "metadata": {"k": 1}}, True),
        ({"inputs": {"q": 1}, "outputs": "A"}, False),
        ({"inputs": {"q": 1}, "outputs": {"answer": "A"}, "expectations": []}, False),
        ({"inputs": {"q": 1}, "outputs": {"answer": "A"}, "scores": {}}, False),
    ],
)
def test_an_example_needs_no_ids_and_nothing_that_no_example_has(
    tmp_path: Path, row: Json, *, is_example: bool
) -> None:
    path = written(tmp_path / "examples.jsonl", [row, {**row, "inputs": {"q": 2}}])
    found = matching(sniff(path))
    assert (found and found.name) == ("langsmith" if is_example else None)
    if is_example:
        cases, runs = kept(path)
        assert [case.fields.expected_outputs for case in cases] == [{"answer": "A"}] * 2
        assert len({case.id for case in cases}) == 2
        assert runs == []


def test_trajectories_are_runs_with_all_that_they_say(tmp_path: Path) -> None:
    one = {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": "t1",
        "agent": {"name": "coder", "version": "1"},
        "extra": {"own": 1},
        "steps": [
            {"step_id": 1, "source": "user", "message": "do"},
            {"step_id": 2, "source": "agent", "message": "done", "reasoning_content": "hm"},
        ],
    }
    _, runs = kept(written(tmp_path / "t.jsonl", [one, {**one, "trajectory_id": "t2"}]), "atif")
    assert [run.id for run in runs] == ["atif:t1", "atif:t2"]
    assert extra(runs[0])["rest"]["extra"] == {"own": 1}
    assert extra(runs[0])["steps"][1]["reasoning_content"] == "hm"


DAMAGED: dict[str, tuple[str, object]] = {
    "a trajectory has a task_id": ("tau.json", [TAU, {"task_id": 1, "reward": 0, "info": {}}]),
    "a test case has an input": ("d.json", {"testCases": [{"name": "x"}]}),
    "a trace has an id and a root span": ("m.jsonl", [TRACE, {"info": {"trace_id": "x"}, "data": {"spans": []}}]),
    "l.jsonl:2: must be an object": ("l.jsonl", [observation("a"), 7]),
    "a run has inputs": ("ls.jsonl", [{"id": "r", "run_type": "chain"}]),
    "no steps": ("t.jsonl", [{"schema_version": "ATIF-v1.8", "agent": {"name": "x"}, "steps": []}]),
}


@pytest.mark.parametrize("reason", DAMAGED)
def test_what_lacks_what_makes_it_a_sample_is_refused_by_its_place(tmp_path: Path, reason: str) -> None:
    name, said = DAMAGED[reason]
    with pytest.raises(InvalidRecordError, match=reason) as refusal:
        samples(written(tmp_path / name, said))
    assert name in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tau.json", [TAU, TAU]),
        ("d.json", DEEPEVAL),
        ("m.json", [TRACE, TRACE]),
        ("l.jsonl", [observation("a"), observation("b")]),
    ],
)
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, name: str, said: object) -> None:
    text = written(tmp_path / "whole.jsonl" if name.endswith("l") else tmp_path / "whole.json", said).read_text("utf-8")
    path = tmp_path / name
    path.write_text(text[: len(text) - 20], "utf-8")
    with pytest.raises(InvalidRecordError, match=f"{name}.*cut off"):
        samples(path)
    assert json.loads(text.splitlines()[0])
