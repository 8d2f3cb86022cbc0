"""OpenAI evals: data sets, record logs whose lines lie apart, output items of hosted runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.table import sniff
from minions_evals_mcp.interop.log_formats.unknown_files import refusal
from minions_evals_mcp.scoring.foreign.recorded import RecordedVerdict, verdict_of
from tests.shared.interop.log_parts import LOG
from tests.shared.interop.makers import Json, extra, foreign, kept, read, samples, written


def test_lines_of_one_sample_are_put_together_however_far_apart(tmp_path: Path) -> None:
    log, items = read(written(tmp_path / "run.jsonl", LOG), "openai-evals")
    assert (log.id, log.task, log.subject) == ("240101RUN", "capitals", "gpt-x")
    assert log.extra["finalReport"] == {"accuracy": 0.5}
    assert len(items) == 2
    cases, runs = kept(tmp_path / "run.jsonl")
    scores = {str(extra(run)["log"]["sample"]): foreign(run) for run in runs}
    assert [(one["name"], one["value"]) for one in scores["a.dev.0"]] == [
        ("match", True),
        ("accuracy", 1.0),
        ("note", "odd"),
    ]
    assert [(one["name"], one["value"]) for one in scores["a.dev.1"]] == [("match", False)]
    checks = [check for case in cases for check in case.fields.assertions]
    assert [(one.type, one.threshold) for one in checks] == [("assert-set", 0.5), ("starts-with", None)]
    assert {str(run.fields.outputs["output"]) for run in runs} == {"Paris", "Rome"}
    assert {run.fields.tokens_used for run in runs} == {12}


def test_samples_of_a_data_set_are_cases_and_other_keys_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "geo"
    folder.mkdir()
    lines = [
        {"input": [{"role": "system", "content": "Short."}, {"role": "user", "content": "France?"}], "ideal": "Paris"},
        {"input": "Holland?", "ideal": ["Amsterdam", "The Hague"], "level": 2},
    ]
    path = written(folder / "samples.jsonl", lines)
    log, _ = read(path, "openai-evals-samples")
    assert log.task == "geo"
    cases, runs = kept(path)
    assert not runs
    assert cases[0].fields.expected_outputs == {"output": "Paris"}
    assert cases[0].fields.inputs["messages"] == lines[0]["input"]
    assert [(one.type, one.value) for one in cases[1].fields.assertions] == [
        ("contains-any", ["Amsterdam", "The Hague"])
    ]
    assert cases[1].fields.extra["level"] == 2


def test_output_items_bring_their_grades(tmp_path: Path) -> None:
    item: Json = {
        "run_id": "evalrun_1", "data_source_idx": 0, "item": {"question": "France?"}, "grades": {"exact": 1.0, "tone": 0.5},
        "passes": {"exact": True}, "grader_samples": {"tone": {"text": "fine"}},
        "sample": {
            "model": "gpt-x", "output": [{"role": "assistant", "content": "Paris"}], "finish_reason": "stop",
            "usage": {"prompt_tokens": 4, "completion_tokens": 1},
        },
    }  # fmt: skip
    _, (run,) = kept(written(tmp_path / "items.jsonl", [item]), "openai-evals-items")
    assert run.fields.outputs == {"output": "Paris"}
    assert foreign(run) == [
        {"name": "exact", "value": 1.0, "foreign": True, "passed": True}, {"name": "tone", "value": 0.5, "foreign": True},
    ]  # fmt: skip
    assert run.fields.extra["rest"] == {
        "run_id": "evalrun_1",
        "data_source_idx": 0,
        "grader_samples": {"tone": {"text": "fine"}},
    }


API_ITEM: Json = {
    "object": "eval.run.output_item", "id": "outputitem_1", "created_at": 1743092076, "run_id": "evalrun_1", "eval_id": "eval_1",
    "status": "pass", "datasource_item_id": 5, "datasource_item": {"input": "Stocks rally", "ground_truth": "Markets"},
    "results": [
        {"name": "label", "sample": None, "passed": True, "score": 1.0},
        {"name": "tone", "passed": False, "score": 0.4, "sample": {"output": [{"role": "assistant", "content": "curt"}]}},
        {"name": "facts", "passed": False, "score": 0.0, "sample": {"error": {"code": "e", "message": "rate limit"}}},
    ],
    "sample": {
        "input": [{"role": "user", "content": "Stocks rally"}], "output": [{"role": "assistant", "content": "Markets"}],
        "finish_reason": "stop", "model": "gpt-x", "error": {"code": "", "message": ""},
        "usage": {"total_tokens": 5, "completion_tokens": 2, "prompt_tokens": 3, "cached_tokens": 0},
    },
}  # fmt: skip


@pytest.mark.parametrize("form", ["items.jsonl", "list.json", "page.json", "one.json"])
def test_output_items_as_the_api_answers_with_them_bring_their_verdicts(tmp_path: Path, form: str) -> None:
    said = {"page.json": {"object": "list", "data": [API_ITEM], "has_more": False}, "one.json": API_ITEM}
    path = written(tmp_path / form, said.get(form, [API_ITEM]))
    log, _ = read(path, "openai-evals-items")
    assert (log.id, log.task) == ("evalrun_1", "eval_1")
    (case,), (run,) = kept(path)
    assert case.fields.inputs == API_ITEM["datasource_item"]
    assert (run.fields.outputs, run.fields.status, run.fields.agent_id) == ({"output": "Markets"}, "success", "gpt-x")
    label, tone, facts = foreign(run)
    assert (label["passed"], tone["passed"], tone["value"], tone["explanation"]) == (True, False, 0.4, "curt")
    assert (verdict_of(label), verdict_of(facts)) == (RecordedVerdict(True, 1.0, "1.0"), "it failed: rate limit")
    assert [check.value["scorer"] for check in case.fields.assertions if isinstance(check.value, dict)] == [
        "label", "tone", "facts",
    ]  # fmt: skip


def test_output_items_of_azure_ai_foundry_have_their_answer_in_the_item(tmp_path: Path) -> None:
    safety: Json = {
        "type": "azure_ai_evaluator",
        "name": "Safety",
        "threshold": 3,
        "passed": True,
        "reason": "harmless",
    }
    call = {"type": "function_call", "call_id": "c", "name": "weather", "arguments": '{"city": "Seattle"}'}
    item: Json = {
        "object": "eval.run.output_item", "id": "1", "run_id": "r", "eval_id": "e", "status": "completed",
        "datasource_item": {"query": "Rain?", "sample.output_text": "No", "sample.output_items": [call]},
        "results": [{**safety, "metric": "violence", "score": 0.0}, {**safety, "metric": "hate", "score": 4.0, "passed": False}],
    }  # fmt: skip
    (case,), (run,) = kept(written(tmp_path / "items.jsonl", [item]), "openai-evals-items")
    assert (case.fields.inputs, run.fields.outputs) == ({"query": "Rain?"}, {"output": "No"})
    assert [(step.tool, step.arguments) for step in run.fields.tool_calls_log or ()] == [
        ("weather", {"city": "Seattle"})
    ]
    assert [(one["name"], one["passed"]) for one in foreign(run)] == [("Safety", True), ("Safety: hate", False)]


def test_data_of_a_hosted_eval_are_cases_and_a_sample_is_a_recorded_output(tmp_path: Path) -> None:
    lines: list[Json] = [{"item": {"q": "France?"}}, {"item": {"q": "Italy?"}, "sample": {"output_text": "Rome"}}]
    cases, runs = kept(written(tmp_path / "data.jsonl", lines), "openai-evals-items")
    assert [case.fields.inputs for case in cases] == [{"q": "France?"}, {"q": "Italy?"}]
    assert [run.fields.outputs for run in runs] == [{"output": "Rome"}]


@pytest.mark.parametrize(
    "said", [{"object": "eval.run", "id": "r"}, {"testing_criteria": [], "data_source_config": {}}]
)
def test_a_hosted_eval_without_its_items_is_refused_with_the_way_to_them(tmp_path: Path, said: Json) -> None:
    error = refusal(sniff(written(tmp_path / "eval.json", said)))
    assert "output_items.list" in str(error.remedy)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ('{"input": "a", "ideal": "b"}\n{"input": "a"}\n', r"a.jsonl:2: a sample has input and ideal"),
        ('{"input": "a", "ideal": "b"}\n{"input": "a", "id', r"a.jsonl:2: no JSON: it is cut off"),
        ('{"data_source_idx": 0, "grades": {}}\n{"data_source_idx": -1, "grades": {}}\n', r"a.jsonl:2: an output item"),
    ],
)
def test_a_damaged_line_is_refused_by_its_number(tmp_path: Path, lines: str, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(lines, "utf-8")
    with pytest.raises(InvalidRecordError, match=reason):
        samples(path)


def test_lines_that_end_as_on_an_old_machine_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    line = '{"input": "a\u2028b", "ideal": "c"}'
    path.write_bytes(f"{line}\r{line}\r\n{line}\n".encode())
    assert len(samples(path, "openai-evals-samples")) == 3
