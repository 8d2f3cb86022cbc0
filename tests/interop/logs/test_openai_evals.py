"""OpenAI evals: data sets, record logs whose lines lie apart, output items of hosted runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.errors import InvalidRecordError
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
