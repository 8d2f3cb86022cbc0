"""Reports of evaluation libraries: a recorded verdict is the verdict, and an error of an evaluator or a task is none."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.cli.keep.log_imports import explained, explanation
from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.interop.log_formats.reports.harbor import UNNAMED
from minions_evals_mcp.interop.logs.sample import LogSample
from minions_evals_mcp.scoring.assertions.table import check
from minions_evals_mcp.scoring.checks import Checked, Subject
from tests.shared.interop.makers import Json, extra, foreign, kept, samples, written
from tests.shared.interop.report_shapes import (
    Said,
    adk_invocation,
    adk_result,
    azure_results,
    braintrust_rows,
    harbor_job,
    harbor_trial,
    phoenix_note,
    phoenix_runs,
    pydantic_case,
    pydantic_report,
    strands_report,
)

SAYINGS: tuple[bool | str, ...] = (True, False, "!scorer down")


PLAN: dict[str, Said] = {
    f"c{number}": dict(zip(("same", "brief"), said, strict=True))
    for number, said in enumerate(itertools.product(SAYINGS, repeat=2))
}


def _pydantic() -> Json:
    return pydantic_report(
        *(pydantic_case(name, {**said, "near": 0.1, "tone": "fail"}) for name, said in PLAN.items()),
        pydantic_case("broke", {}, error="task down"),
    )


def _strands() -> Json:
    return strands_report({**PLAN, "broke": "task down"}, ("same", "brief"))


def _scorer(value: JsonValue) -> str:
    return str(obj(value)["scorer"])


def _scorers(case: Record[TestCase]) -> list[str]:
    return [_scorer(one.value) for one in case.fields.assertions]


def _braintrust(*, spans: bool = True) -> list[Json]:
    return braintrust_rows({**PLAN, "broke": "task down"}, spans=spans)


MADE: dict[str, Callable[[], object]] = {
    "pydantic-evals-report": _pydantic, "strands-report": _strands, "braintrust": _braintrust,
}  # fmt: skip


def _planned(case: Record[TestCase]) -> str:
    return case.fields.name.removesuffix("?")


@pytest.mark.parametrize("form", MADE)
def test_a_check_of_an_imported_report_has_its_recorded_verdict_and_no_other(tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "nightly.json", MADE[form]())
    assert explained(path, None)["format"] == form
    cases, runs = kept(path)
    scores = {extra(run)["log"]["case"]: foreign(run) for run in runs}
    for case in (case for case in cases if _planned(case) in PLAN):
        subject = Subject("It is Paris", recorded_scores=tuple(scores[case.id]))
        results = {_scorer(one.value): check(one, subject) for one in case.fields.assertions}
        assert {name: found.passed if isinstance(found, Checked) else None for name, found in results.items()} == {
            name: value if isinstance(value, bool) else None for name, value in PLAN[_planned(case)].items()
        }


@pytest.mark.parametrize("form", MADE)
def test_the_error_of_a_task_is_an_error_and_the_error_of_an_evaluator_no_score(tmp_path: Path, form: str) -> None:
    cases, runs = kept(written(tmp_path / "r.json", MADE[form]()), form)
    assert len(cases) == len(runs) == len(PLAN) + 1
    failed = [run for run in runs if run.fields.status == "failed"]
    assert [run.fields.error_message for run in failed] == ["task down"]
    assert foreign(failed[0]) == []
    errors = [one for run in runs for one in foreign(run) if one.get("error")]
    assert {one["error"] for one in errors} == {"scorer down"}
    assert len(errors) == sum(isinstance(value, str) for said in PLAN.values() for value in said.values())
    assert all(one.get("passed") is None and one["value"] is None for one in errors)


def test_scores_and_labels_of_pydantic_evals_decide_nothing(tmp_path: Path) -> None:
    report = pydantic_report(pydantic_case("a", {"near": 1.0, "tone": "pass", "same": True}))
    cases, runs = kept(written(tmp_path / "r.json", report))
    assert _scorers(cases[0]) == ["same"]
    assert {one["name"]: one.get("isGrade") for one in foreign(runs[0])} == {"same": None, "near": True, "tone": True}
    assert (runs[0].fields.outputs, extra(runs[0])["log"]["inputTokens"]) == ({"output": "It is Paris"}, 7)


def test_repetitions_of_a_case_are_its_epochs(tmp_path: Path) -> None:
    rows = [pydantic_case(f"{name} [{n}/3]", {"same": n != 2}, source=name) for name in "ab" for n in (1, 2, 3)]
    found = samples(written(tmp_path / "r.json", pydantic_report(*rows)))
    assert [(one.id, one.epoch) for one in found] == [(name, n) for name in "ab" for n in (1, 2, 3)]


def test_a_failing_evaluator_that_only_grades_leaves_the_verdict_alone(tmp_path: Path) -> None:
    rows = (pydantic_case("a", {"same": True, "near": 0.5}), pydantic_case("b", {"same": True, "near": "!down"}))
    cases, _ = kept(written(tmp_path / "r.json", pydantic_report(*rows)))
    assert [
        [obj["scorer"] for check in case.fields.assertions if isinstance(obj := check.value, dict)] for case in cases
    ] == [["same"]] * 2


def test_an_evaluator_of_strands_with_nothing_to_judge_has_no_say(tmp_path: Path) -> None:
    report = strands_report({"a": {"same": True, "tool": "n/a"}, "b": {"same": False, "tool": True}}, ("same", "tool"))
    cases, _ = kept(written(tmp_path / "r.json", report))
    assert [_scorers(case) for case in cases] == [
        ["same"], ["same", "tool"],
    ]  # fmt: skip


def test_tool_calls_of_a_strands_session_are_read(tmp_path: Path) -> None:
    call = {"name": "look", "arguments": {"q": "é"}, "tool_call_id": "1"}
    spans = [
        {"span_type": "execute_tool", "tool_call": call, "tool_result": {"content": "42", "error": None}},
        {"user_prompt": "q"},
    ]
    session = {"session_id": "s", "traces": [{"trace_id": "t", "spans": spans}]}
    _, runs = kept(written(tmp_path / "r.json", strands_report({"a": {"same": True}}, ("same",), trajectory=session)))
    log = runs[0].fields.tool_calls_log or []
    assert [(step.tool, step.arguments, step.result) for step in log] == [("look", {"q": "é"}, "42")]


TRIALS: dict[str, tuple[Json, bool | str | None]] = {
    "a__1": (harbor_trial("a__1", {"reward": 1.0}), True),
    "a__2": (harbor_trial("a__2", {"reward": 0.0}), False),
    "b__1": (harbor_trial("b__1", {"reward": 0.5}), False),
    "c__1": (harbor_trial("c__1", {"reward": 0.0}, ("AgentTimeoutError", True)), False),
    "d__1": (harbor_trial("d__1", {"reward": 1.0}, ("ApiRateLimitError", False)), "ApiRateLimitError"),
    "e__1": (harbor_trial("e__1", None, ("EnvironmentStartTimeoutError", False)), "EnvironmentStartTimeoutError"),
    "f__1": (harbor_trial("f__1", {"reward": 1, "style": 0.2}), True),
    "g__1": (harbor_trial("g__1", {"accuracy": 1.0, "speed": 0.2}), None),
    "h__1": (harbor_trial("h__1", {"accuracy": 1.0}), True),
}
"""Trials by their names, and what each comes to: a verdict, an error, or None where no reward is the one that decides."""


def _comes_to(sample: LogSample) -> bool | str | None:
    assert sample.produced is not None
    if sample.produced.error is not None:
        return sample.produced.error.partition(":")[0]
    subject = Subject("", recorded_scores=tuple(score.wire() for score in sample.produced.scores))
    found = [check(Assertion.model_validate(one), subject) for one in sample.assertions]
    return (
        all(one.passed for one in found if isinstance(one, Checked))
        if any(isinstance(one, Checked) for one in found)
        else None
    )


@pytest.mark.parametrize("whole", [True, False])
def test_a_job_of_harbor_says_what_its_trials_say(tmp_path: Path, whole: bool) -> None:
    job = harbor_job(*(trial for trial, _ in TRIALS.values()), whole=whole)
    found = samples(written(tmp_path / "result.json", job))
    assert {str(one.id): _comes_to(one) for one in found} == {name: wanted for name, (_, wanted) in TRIALS.items()}
    assert [one.epoch for one in found if one.case == "a"] == [1, 2]


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_of_harbor_alone_says_the_same(tmp_path: Path, name: str) -> None:
    trial, wanted = TRIALS[name]
    (found,) = samples(written(tmp_path / "result.json", trial))
    assert _comes_to(found) == wanted
    assert found.produced is not None
    assert (found.produced.input_tokens, found.produced.output_tokens, found.produced.cost) == (10, 5, 0.5)


def test_trials_that_a_job_names_nowhere_are_counted_as_left_out(tmp_path: Path) -> None:
    job = harbor_job(TRIALS["a__1"][0], harbor_trial("n__1", None), whole=False)
    assert UNNAMED in explanation(written(tmp_path / "result.json", job), None)


SUITE: dict[str, Json] = {
    "pydantic-evals": {"cases": [{"name": "a", "inputs": "?", "expected_output": None}], "evaluators": []},
    "strands": {"cases": [{"name": "a", "input": "?", "expected_output": "A"}], "evaluators": []},
}
EVALUATORS: tuple[tuple[str, object, list[Json], tuple[str, ...]], ...] = (
    ("pydantic-evals", "EqualsExpected", [], ()),
    ("pydantic-evals", {"Contains": "A"}, [{"type": "contains", "value": "A"}], ()),
    ("pydantic-evals", {"Contains": {"value": "A", "evaluation_name": "x"}}, [{"type": "contains", "value": "A", "metric": "x"}], ()),
    ("pydantic-evals", {"Contains": {"value": {"k": 1}}}, [], ("Contains",)),
    ("pydantic-evals", {"LLMJudge": {"rubric": "r", "assertion": False}}, [{"type": "llm-rubric", "value": "r", "weight": 0}],
     ("an evaluator without an assertion",)),
    ("strands", {"evaluator_type": "Equals"}, [{"type": "equals", "value": "A"}], ()),
    ("strands", {"evaluator_type": "Equals", "value": 5}, [{"type": "equals", "value": 5}], ()),
    ("strands", {"evaluator_type": "Contains", "value": "a", "case_sensitive": False}, [{"type": "icontains", "value": "a"}], ()),
    ("strands", {"evaluator_type": "StartsWith", "value": "A", "case_sensitive": False}, [], ("StartsWith",)),
    ("strands", {"evaluator_type": "OutputEvaluator", "rubric": "r"}, [{"type": "llm-rubric", "value": "r"}], ()),
    ("strands", {"evaluator_type": "ToolCalled", "tool_name": "t"}, [{"type": "trajectory:tool-used", "value": "t"}], ()),
    ("strands", {"evaluator_type": "TrajectoryEvaluator", "rubric": "r"}, [], ("TrajectoryEvaluator",)),
)  # fmt: skip


@pytest.mark.parametrize(("form", "evaluator", "checks", "unread"), EVALUATORS)
def test_an_evaluator_becomes_the_check_that_means_the_same_or_the_case_is_a_draft(
    tmp_path: Path, form: str, evaluator: JsonValue, checks: list[Json], unread: tuple[str, ...]
) -> None:
    path = written(tmp_path / "suite.json", {**SUITE[form], "evaluators": [evaluator]})
    (found,) = samples(path, form)
    assert ([*found.assertions], found.unread) == (checks, unread)
    cases, _ = kept(path, form)
    assert (cases[0].fields.status == "draft") == bool(unread)


ADK_SAID: dict[str, tuple[Said, tuple[bool | None, ...]]] = {
    "both": ({"match": True, "tools": True}, (True, True)),
    "one": ({"match": True, "tools": False}, (True, False)),
    "none": ({"match": False, "tools": False}, (False, False)),
    "judge": ({"match": True, "tools": "!"}, (True, None)),
    "informs": ({"match": True, "tools": True, "calls": 2.0, "tokens": "~"}, (True, True)),
    "never": ({"match": True, "tools": True, "broken": "!"}, (True, True)),
}


def _verdicts(case: Record[TestCase], run: Record[AgentRun]) -> tuple[bool | None, ...]:
    subject = Subject("It is Paris", recorded_scores=tuple(foreign(run)))
    found = [check(one, subject) for one in case.fields.assertions]
    return tuple(one.passed if isinstance(one, Checked) else None for one in found)


def test_metrics_of_an_adk_result_have_their_recorded_status(tmp_path: Path) -> None:
    """One that only informs, or that was evaluated in no case of the file, decides nothing, as in ADK."""
    path = written(tmp_path / "r.json", adk_result({name: said for name, (said, _) in ADK_SAID.items()}))
    cases, runs = kept(path, "adk-result")
    assert {case.fields.name: _verdicts(case, run) for case, run in zip(cases, runs, strict=True)} == {
        name: verdicts for name, (_, verdicts) in ADK_SAID.items()
    }


def test_an_adk_case_without_a_conversation_is_an_error_of_the_agent_and_runs_are_trials(tmp_path: Path) -> None:
    plan: dict[str, Said | str] = {
        "a": {"match": True},
        "a#2": {"match": False},
        "b": "down",
        "b#2": {"match": True},
        "c": "down",
    }
    found = samples(written(tmp_path / "r.json", adk_result(plan)))
    assert [(one.id, one.epoch, one.produced and one.produced.error is not None) for one in found] == [
        ("a", 1, False), ("a", 2, False), ("b", 1, True), ("b", 2, False), ("c", 1, True),
    ]  # fmt: skip
    assert found[2].inputs == found[3].inputs == {"input": "b?"}
    assert {str(one.assertions) for one in found} == {str(found[0].assertions)}


def test_an_adk_conversation_is_read_with_its_calls_tokens_and_time(tmp_path: Path) -> None:
    document = adk_result({"a": {"match": True}})
    (turn,) = document["eval_case_results"][0]["eval_metric_result_per_invocation"]
    second = {"actual_invocation": adk_invocation("And?", None), "expected_invocation": adk_invocation("And?", "Rome")}
    document["eval_case_results"][0]["eval_metric_result_per_invocation"] = [
        turn,
        {**second, "eval_metric_results": []},
    ]
    (case,), (run,) = kept(written(tmp_path / "r.json", document))
    assert case.fields.inputs == {"messages": [{"role": "user", "content": text} for text in ("a?", "And?")]}
    assert case.fields.expected_outputs == {"output": "Rome"}
    assert (run.fields.outputs, run.fields.status) == ({}, "success")
    assert [(step.tool, step.arguments, step.result) for step in run.fields.tool_calls_log or ()] == [
        ("look", {"q": "é"}, {"found": 1})
    ] * 2
    assert (extra(run)["log"]["inputTokens"], extra(run)["log"]["latencyMs"]) == (20, 1000)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_result_that_an_older_adk_wrote_as_a_text_is_the_same(tmp_path: Path, indent: int | None) -> None:
    document = adk_result({"a": {"match": True}, "b": {"match": False}}, expected=False)
    plain = samples(written(tmp_path / "r.json", document))
    encoded = samples(written(tmp_path / "old.json", json.dumps(document, indent=indent)), "adk-result")
    assert [(one.id, one.inputs, one.produced) for one in encoded] == [
        (one.id, one.inputs, one.produced) for one in plain
    ]
    pairs = [[{"metric_name": "match", "threshold": 1.0}, {"score": 0.0, "eval_status": 2}]]
    del document["eval_case_results"][0]["overall_eval_metric_results"]
    document["eval_case_results"][0]["eval_metric_results"] = pairs
    first = samples(written(tmp_path / "oldest.json", document))[0].produced
    assert first and [(score.name, score.value, score.about["passed"]) for score in first.scores] == [
        ("match", 0.0, False)
    ]


@pytest.mark.parametrize("spans", [True, False])
def test_scores_of_braintrust_are_read_wherever_they_stand_in_the_trace(tmp_path: Path, *, spans: bool) -> None:
    """A page of the API, a list in any order, and lines; a scorer that gives more than 0 and 1 knows no pass mark here."""
    rows = braintrust_rows({"a": {"same": True, "near": 0.4}, "b": {"same": False, "near": 1.0}}, spans=spans)
    for name, content in {"page.json": {"events": rows}, "btql.json": {"data": rows[::-1]}, "rows.jsonl": rows}.items():
        cases, runs = kept(written(tmp_path / name, content), "braintrust")
        told = {case.fields.name: _verdicts(case, run) for case, run in zip(cases, runs, strict=True)}
        assert told == {"a?": (True,), "b?": (False,)}
        assert {score["name"]: score.get("isGrade") for score in foreign(runs[0])} == {"same": None, "near": True}
        assert [bool(run.fields.tool_calls_log) for run in runs] == [spans] * 2


def test_trials_of_one_braintrust_case_have_the_same_checks(tmp_path: Path) -> None:
    plan: dict[str, Said | str] = {
        "a": {"same": True, "skips": "n/a"}, "a#2": {"same": False, "skips": True}, "b": {"same": True, "skips": "n/a"}, "c": "down",
    }  # fmt: skip
    cases, runs = kept(written(tmp_path / "rows.jsonl", braintrust_rows(plan)))
    assert len({case.id for case in cases}) == 3
    assert [_scorers(case) for case in cases] == [["same", "skips"], ["same", "skips"], ["same"], ["same"]]
    assert [run.fields.error_message for run in runs] == [None, None, None, "down"]


def test_records_of_a_braintrust_data_set_are_cases_alone(tmp_path: Path) -> None:
    row = {
        "id": "d1",
        "_xact_id": "1",
        "dataset_id": "geo",
        "input": {"q": 1},
        "expected": "Paris",
        "metadata": {"k": 1},
    }
    (case,), runs = kept(written(tmp_path / "d.jsonl", [row]), "braintrust")
    assert (case.fields.inputs, case.fields.expected_outputs, case.fields.assertions, runs) == (
        {"q": 1}, {"output": "Paris"}, (), [],
    )  # fmt: skip


def test_evaluators_of_azure_have_their_recorded_verdict(tmp_path: Path) -> None:
    """A line that failed has none; an evaluator that was skipped has no say; figures of one's own decide nothing."""
    plan: dict[str, Said] = {
        **PLAN, "skip": {"same": True, "brief": "n/a"}, "own": {"same": True, "brief": True, "length": 5.0},
    }  # fmt: skip
    cases, runs = kept(written(tmp_path / "az.json", azure_results(plan)), "azure-evaluation")
    assert {_planned(case): _verdicts(case, run) for case, run in zip(cases, runs, strict=True)} == {
        **{name: tuple(one if isinstance(one, bool) else None for one in said.values()) for name, said in PLAN.items()},
        "skip": (True,), "own": (True, True),
    }  # fmt: skip
    assert (runs[0].fields.outputs, cases[0].fields.expected_outputs) == (
        {"output": "It is Paris"},
        {"output": "Paris"},
    )


def test_a_figure_of_ones_own_that_is_called_like_a_verdict_decides_nothing_in_azure(tmp_path: Path) -> None:
    own = {"outputs.mine.tests_passed": 7, "outputs.mine.tests_total": 9, "outputs.mine.final_result": "Paris"}
    rows = [obj(row) | own for row in listed_values(azure_results({"q": {"same": True}, "r": {"same": False}})["rows"])]
    cases, runs = kept(written(tmp_path / "az.json", {"rows": rows, "metrics": {}}), "azure-evaluation")
    assert [_verdicts(case, run) for case, run in zip(cases, runs, strict=True)] == [(True,), (False,)]


def test_a_case_of_azure_is_the_same_wherever_its_row_stands(tmp_path: Path) -> None:
    rows = [{"inputs.query": f"{name}?", "inputs.context": "c", "outputs.own.ok": True} for name in "ab"]
    there = [
        kept(written(tmp_path / f"{at}.json", {"rows": part, "metrics": {}}))[0]
        for at, part in enumerate((rows, rows[::-1]))
    ]
    assert {case.id: case.fields.name for case in there[0]} == {case.id: case.fields.name for case in there[1]}


def test_rows_of_azure_are_trials_conversations_and_answers_of_a_target(tmp_path: Path) -> None:
    talk = [
        {"role": role, "content": text}
        for role, text in (("user", "Hi"), ("assistant", "Hello"), ("user", "Bye"), ("assistant", "Ciao"))
    ]
    rows = [
        {"inputs.query": "Q", "outputs.response": "A", "outputs.own.ok": True},
        {"inputs.query": "Q", "outputs.response": "B", "outputs.own.ok": False},
        {"inputs.conversation": {"messages": talk}, "outputs.fluency.gpt_fluency": 4.0},
        {"inputs.query": "T", "inputs.response": "x", "outputs.f1_score.f1_score": 0.2, "outputs.f1_score.f1_result": "fail"},
        {"inputs.query": "old", "inputs.response": "x", "outputs.tool.tool": "not applicable", "outputs.tool.tool_result": "pass"},
    ]  # fmt: skip
    cases, runs = kept(written(tmp_path / "az.json", {"rows": rows, "metrics": {}}), "azure-evaluation")
    assert [_verdicts(case, run) for case, run in zip(cases, runs, strict=True)] == [
        (True,), (False,), (None,), (False,), (None,),
    ]  # fmt: skip
    assert [run.fields.outputs["output"] for run in runs] == ["A", "B", "Ciao", "x", "x"]
    assert [extra(run)["log"]["epoch"] for run in runs[:2]] == [1, 2]
    assert cases[2].fields.inputs == {"messages": [talk[0], talk[2]]}


def test_evaluators_of_phoenix_have_their_recorded_verdict_and_failed_tasks_are_errors(tmp_path: Path) -> None:
    plan = {**PLAN, "c0#2": {"same": False, "brief": True}, "broke": "task down"}
    cases, runs = kept(written(tmp_path / "x.json", phoenix_runs(plan)), "phoenix-experiment")
    told = [_verdicts(case, run) for case, run in zip(cases, runs, strict=True)]
    assert told == [
        *(tuple(one if isinstance(one, bool) else None for one in said.values()) for said in PLAN.values()),
        (False, True), (None, None),
    ]  # fmt: skip
    assert [run.fields.error_message for run in runs if run.fields.status == "failed"] == ["task down"]
    assert cases[0].id == cases[-2].id
    assert [extra(run)["log"]["epoch"] for run in (runs[0], runs[-2])] == [1, 2]
    assert cases[0].fields.expected_outputs == {"answer": "Paris"}


@pytest.mark.parametrize(
    ("notes", "verdicts"),
    [
        ([phoenix_note("code", 1), phoenix_note("code", 0)], (True, False)),
        ([phoenix_note("code", 1), phoenix_note("code", 0.4)], (None, None)),
        ([phoenix_note("model", 1, kind="LLM", label="hallucinated"), phoenix_note("model", 0, kind="LLM", label="factual")], (None, None)),
        ([phoenix_note("model", 1, kind="LLM", label="correct"), phoenix_note("model", 0, kind="LLM", label="incorrect")], (True, False)),
        ([phoenix_note("letter", 1, kind="LLM", label="C"), phoenix_note("letter", 0, kind="LLM", label="N")], (None, None)),
        ([phoenix_note("person", True, kind="HUMAN"), phoenix_note("person", False, kind="HUMAN")], (None, None)),
    ],
)  # fmt: skip
def test_a_score_of_phoenix_without_a_known_direction_is_no_verdict(
    tmp_path: Path, notes: list[Json], verdicts: tuple[bool | None, ...]
) -> None:
    rows = [{**row, "annotations": [note]} for row, note in zip(phoenix_runs({"a": {}, "b": {}}), notes, strict=True)]
    cases, runs = kept(written(tmp_path / "x.json", rows))
    assert tuple(_verdicts(case, run) for case, run in zip(cases, runs, strict=True)) == tuple(
        (one,) for one in verdicts
    )
