"""Scorers of other tools: Inspect's own say here what inspect-ai says, any other's recorded score is its verdict."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, cast

import pytest

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.interop.logs.sample import LogSample
from minions_evals_mcp.scoring.assertions.table import check
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked
from tests.shared.interop.log_parts import DEEPEVAL, LOG, TAU, TAU2, TRACE, line, tau2_simulation
from tests.shared.interop.makers import INSPECT_HEADER, Json, inspect_sample, samples, written
from tests.shared.interop.whole_files import ITEM, lm_eval_line, ragas_row

RECORDED = Path(__file__).parents[2] / "shared/interop/inspect_verdicts.jsonl"
GROUPS = [json.loads(group) for group in RECORDED.read_text("utf-8").splitlines()]
LETTERS = {"C": 1.0, "I": 0.0, "N": 0.0}
NOT_HERE = {r"(?<=is )(\w+)"}
"""Expressions that a search in linear time cannot carry out: the recorded score is the verdict."""


def judged(assertion: Json, output: str, *scores: Json) -> Checked | Unchecked:
    return check(Assertion.model_validate(assertion), Subject(output, recorded_scores=scores))


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group['scorer']} {group['options']}")
def test_a_scorer_of_inspect_says_what_inspect_says(group: Json, tmp_path: Path) -> None:
    """The values in the file are inspect-ai's own, of outputs of ours."""
    scorer = {"name": f"inspect_ai/{group['scorer']}", "options": group["options"]}
    params = {"multiple_correct": group.get("multiple")}
    header: Json = {
        **INSPECT_HEADER,
        "eval": {**INSPECT_HEADER["eval"], "scorers": [scorer]},
        "plan": {"steps": [{"solver": "multiple_choice", "params": params}]},
    }
    for target, values in zip(group["targets"], group["values"], strict=True):
        choices: Json = {"choices": ["x"] * group["choices"]} if "choices" in group else {}
        tried = [inspect_sample(n, 1, output, **choices) for n, output in enumerate(group["outputs"])]
        path = written(tmp_path / "a.json", {**header, "samples": [{**one, "target": target} for one in tried]})
        for sample, output, value in zip(samples(path), group["outputs"], values, strict=True):
            (assertion,) = sample.assertions
            wanted = LETTERS.get(value, value)
            found = judged(assertion, output)
            if group["options"].get("pattern") in NOT_HERE:
                assert isinstance(found, Unchecked)
                found = judged(assertion, output, {"name": group["scorer"], "value": value})
            assert isinstance(found, Checked), (target, output)
            assert (found.score, found.passed) == (wanted, wanted == 1), (target, output, found.reason)


def test_there_is_a_row_for_each_scorer_that_is_carried_out() -> None:
    from minions_evals_mcp.scoring.foreign.inspect_scorers import SCORERS  # noqa: PLC0415  its table alone

    assert {group["scorer"] for group in GROUPS} == set(SCORERS)


@pytest.mark.parametrize(
    ("value", "passed", "score"),
    [("C", True, 1), ("I", False, 0), ("P", False, 0.5), ("N", False, 0), (True, True, 1), (0.25, False, 0.25), (1, True, 1),
     ("yes", True, 1)],
)  # fmt: skip
def test_the_recorded_score_of_a_scorer_that_is_not_known_is_its_verdict(
    tmp_path: Path, value: object, passed: bool, score: float
) -> None:
    for name in ("my_pkg/own", "model_graded_qa", "math"):
        (sample,) = _scored(tmp_path, [{"name": name, "options": {}}], value)
        (assertion,) = sample.assertions
        found = judged(assertion, "Paris", *_scores(sample))
        assert isinstance(found, Checked)
        assert (found.passed, found.score) == (passed, score)
        assert "recorded verdict" in found.reason


@pytest.mark.parametrize("value", [math.nan, {"a": 1}, [1, 0], 7, "A-"])
def test_a_score_that_is_no_verdict_judges_nothing_and_nothing_judges_in_its_place(
    tmp_path: Path, value: object
) -> None:
    (sample,) = _scored(tmp_path, [{"name": "own", "options": {}}], value)
    (assertion,) = sample.assertions
    found = judged(assertion, "Paris", *_scores(sample))
    assert isinstance(found, Unchecked)
    assert found.not_judgeable
    assert found.reason.startswith("not available: scorer own of inspect")


@pytest.mark.parametrize(
    "options", [{"location": "end", "future": True}, {"numeric": True, "strip": ["%"]}], ids=["added", "with a list"]
)
def test_an_option_that_is_not_known_makes_the_recorded_score_the_verdict(tmp_path: Path, options: Json) -> None:
    (sample,) = _scored(tmp_path, [{"name": "match", "options": options}], "I")
    (assertion,) = sample.assertions
    assert isinstance(judged(assertion, "Paris"), Unchecked)
    found = judged(assertion, "Paris", *_scores(sample))
    assert isinstance(found, Checked)
    assert not found.passed


def test_each_of_several_scorers_is_a_check_by_the_name_of_its_score(tmp_path: Path) -> None:
    scorers: list[Json] = [
        {"name": "match", "options": {"location": "any"}},
        {"name": "match", "options": {}},
        {"name": "own"},
    ]
    (sample,) = _scored(tmp_path, scorers, "C")
    names = [cast("Json", one["value"]) for one in sample.assertions]
    assert [one.get("name", one["scorer"]) for one in names] == ["match", "match1", "own"]
    assert [isinstance(judged(one, "Paris it is"), Checked) for one in sample.assertions] == [True, True, False]


def test_a_choice_whose_solver_is_not_known_is_judged_by_its_recorded_score(tmp_path: Path) -> None:
    (sample,) = _scored(tmp_path, [{"name": "choice"}], "I", choices=["x", "y"], target="A")
    (assertion,) = sample.assertions
    assert isinstance(judged(assertion, "ANSWER: A"), Unchecked)


OTHERS: dict[str, tuple[str, Any, Any]] = {
    "deepeval": ("test_run_1.json", DEEPEVAL, ("success", False)),
    "every-eval-ever": ("x_samples.jsonl", [line("a", "exact", 1.0)], ("is_correct", False)),
    "lm-eval": ("samples_geo.jsonl", [lm_eval_line(1)], ("exact_match", 0.0)),
    "tau-bench": ("m-airline.json", [TAU], ("reward", 0.0)),
    "tau2": ("results.json", {**TAU2, "simulations": [tau2_simulation(1.0)]}, ("reward", 0.0)),
    "openai-evals": ("run.jsonl", [{**LOG[0], "spec": {**cast("Json", LOG[0]["spec"]), "run_config": {}}}, *LOG[1:]], ("correct", False)),
    "openai-evals-items": ("items.jsonl", [ITEM], ("exact", False)),
    "mlflow": ("m.jsonl", [TRACE], ("value", "no")),
    "ragas": ("r.jsonl", [ragas_row(0)], ("concise", 0)),
}  # fmt: skip
"""Of formats whose scorers are not supported here: a file in which outputs are right, and what says that they are wrong."""


@pytest.mark.parametrize("name", OTHERS)
def test_in_every_format_a_wrong_verdict_fails_an_output_that_contains_the_target(tmp_path: Path, name: str) -> None:
    file, told, (key, wrong) = OTHERS[name]
    turned = _turned(told, key, wrong)
    if name == "mlflow":  # of its assessments those of people are labels
        turned = _turned(turned, "source_type", "LLM_JUDGE")
    read = [one for one in samples(written(tmp_path / file, turned), name) if one.assertions]
    assert read
    for sample in read:
        verdicts = [
            judged(one, str(sample.produced and sample.produced.output), *_scores(sample)) for one in sample.assertions
        ]
        assert any(isinstance(one, Checked) and not one.passed for one in verdicts), verdicts
        alone = judged(sample.assertions[0], "any other output")
        assert isinstance(alone, Unchecked)
        assert alone.reason.startswith("not available: scorer")


def _turned(told: Any, key: str, value: object) -> Any:
    if isinstance(told, dict):
        held = cast("dict[str, Any]", told)
        return {
            one: value if one == key and not isinstance(part, dict) else _turned(part, key, value)
            for one, part in held.items()
        }
    return [_turned(one, key, value) for one in cast("list[Any]", told)] if isinstance(told, list) else told


def _scored(tmp_path: Path, scorers: list[Json], value: Any, **more: Any) -> list[LogSample]:
    """A log of one sample whose only score, of the first scorer, is that value."""
    name = str(scorers[0]["name"]).rpartition("/")[2]
    sample = {**inspect_sample(1, 1, "Paris", **more), "scores": {name: {"value": value}}}
    header = {**INSPECT_HEADER, "eval": {**INSPECT_HEADER["eval"], "scorers": scorers}}
    return samples(written(tmp_path / "a.json", {**header, "samples": [sample]}))


def _scores(sample: LogSample) -> list[Json]:
    assert sample.produced is not None
    return [score.wire() for score in sample.produced.scores]


def test_cases_of_deepeval_are_told_apart_where_their_order_is_null_or_counted_anew(tmp_path: Path) -> None:
    orders = {"a": None, "b": None, "c": 0, "d": 0}
    cases: list[Json] = [
        {"input": name, "actualOutput": "x", "order": order, "metricsData": []} for name, order in orders.items()
    ]
    found = samples(written(tmp_path / "test_run_1.json", {"testCases": cases, "conversationalTestCases": []}))
    assert [one.inputs["input"] for one in found] == ["a", "b", "c", "d"]
    assert len({str(one.id) for one in found}) == 4


def _assessed(*feedback: tuple[str, Json]) -> Json:
    """A trace of MLflow's with that feedback of scorers in code."""
    code: Json = {"source_type": "CODE"}
    given = [{"assessment_name": name, "source": code, "feedback": said} for name, said in feedback]
    return {**TRACE, "info": {**TRACE["info"], "trace_id": repr(feedback), "assessments": given}}


@pytest.mark.parametrize("elsewhere", [{"value": "yes"}, {"value": False}, {"value": 0.4}, None])
@pytest.mark.parametrize("file", ["m.jsonl", "m.json"])
def test_a_scorer_of_mlflow_that_failed_decides_unless_it_gives_grades(
    tmp_path: Path, elsewhere: Json | None, file: str
) -> None:
    """The other scorers would pass the trace, and nobody would learn that one of them gave no verdict."""
    broken: Json = {"error": {"error_code": "SCORER_ERROR", "error_message": "judge down", "stack_trace": "…"}}
    traces = [_assessed(("right", {"value": "yes"}), ("other", broken))]
    traces += [_assessed(("right", {"value": "yes"}), ("other", elsewhere))] if elsewhere else []
    first, *_ = samples(written(tmp_path / file, traces))
    found = {str(obj(one["value"])["scorer"]): judged(one, "A1", *_scores(first)) for one in first.assertions}
    is_grade = elsewhere is not None and isinstance(elsewhere["value"], float)
    assert found.keys() == ({"right"} if is_grade else {"right", "other"})
    assert is_grade or "scorer other of mlflow: it failed: judge down" in repr(found["other"])
