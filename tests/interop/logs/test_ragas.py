"""ragas: its rows as JSON, lines and tables; its metrics are grades, of which no verdict is made."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.interop.log_formats.table import matching, sniff
from minions_evals_mcp.interop.logs.sample import LogSample
from minions_evals_mcp.scoring.foreign.recorded import verdict_of
from tests.shared.interop.makers import Json, samples, written
from tests.shared.interop.whole_files import ragas_row


def _table(path: Path, rows: list[Json]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
    return path


def _read(path: Path) -> list[LogSample]:
    form = matching(sniff(path))
    assert form is not None
    assert form.name == "ragas"
    return samples(path, "ragas")


def test_a_table_says_what_its_lines_say(tmp_path: Path) -> None:
    rows = [{**ragas_row(number), "rubrics": {"score1": "it's bad"}} for number in range(2)]
    (lines, table) = (_read(written(tmp_path / "r.jsonl", rows)), _read(_table(tmp_path / "r.csv", rows)))
    assert [(one.inputs, one.targets, one.assertions, one.extra) for one in table] == [
        (one.inputs, one.targets, one.assertions, one.extra) for one in lines
    ]
    assert [one.produced for one in table] == [one.produced for one in lines]


def test_a_grade_is_no_verdict_until_a_limit_is_set_and_an_unmeasured_metric_is_no_zero(tmp_path: Path) -> None:
    row = {**ragas_row(0), "concise": None, "answer_relevancy": None, "noise_sensitivity(mode=relevant)": 0.5}
    (sample,) = _read(_table(tmp_path / "r.csv", [row]))
    assert sample.produced is not None
    found = {score.name: verdict_of(score.wire()) for score in sample.produced.scores}
    assert found == {
        "faithfulness": "its value 0.87 is a grade, and the log gives no pass mark",
        "concise": "it left this output unscored",
        "answer_relevancy": "it left this output unscored",
        "noise_sensitivity(mode=relevant)": "its value 0.5 is better the lower it is, and the log gives no limit",
    }
    (limited,) = (
        verdict_of(score.wire(), threshold=0.8) for score in sample.produced.scores if score.name == "faithfulness"
    )
    assert not isinstance(limited, str)
    assert limited.passed


def test_an_aspect_decides_and_grades_beside_it_do_not(tmp_path: Path) -> None:
    (sample,) = _read(written(tmp_path / "r.jsonl", [ragas_row(0)]))
    assert [check["value"] for check in sample.assertions] == [{"tool": "ragas", "scorer": "concise"}]


def test_a_conversation_is_its_turns_and_its_calls(tmp_path: Path) -> None:
    turns: JsonValue = [
        {"content": "Book it.", "type": "human"},
        {"content": "", "type": "ai", "tool_calls": [{"name": "book", "args": {"id": 1}}]},
        {"content": "ok", "type": "tool"},
        {"content": "Booked.", "type": "ai"},
    ]
    (sample,) = _read(written(tmp_path / "m.json", [{"user_input": turns, "reference": "It is booked."}]))
    assert sample.produced is not None
    assert sample.inputs == {"messages": [{"role": "user", "content": "Book it."}]}
    assert sample.produced.output == "Booked."
    assert sample.produced.tools == ({"tool": "book", "arguments": {"id": 1}},)


def test_the_names_of_older_versions_are_read_and_a_test_set_has_no_outputs(tmp_path: Path) -> None:
    old: Json = {"question": "Who?", "contexts": ["a"], "answer": "Me", "ground_truth": "Me", "faithfulness": 1}
    (one,) = _read(_table(tmp_path / "old.csv", [old]))
    assert (one.inputs, one.targets) == ({"input": "Who?"}, ("Me",))
    (new,) = _read(
        _table(tmp_path / "t.csv", [{"user_input": "Who?", "reference_contexts": ["it's"], "reference": "Me"}])
    )
    assert new.produced is None
    assert new.extra == {"reference_contexts": ["it's"]}


@pytest.mark.parametrize("columns", [["question", "answer"], ["user_input"], ["input", "expected_output"]])
def test_what_others_write_too_is_not_claimed(tmp_path: Path, columns: list[str]) -> None:
    form = matching(sniff(_table(tmp_path / "t.csv", [dict.fromkeys(columns, "x")])))
    assert form is None or form.name != "ragas"
