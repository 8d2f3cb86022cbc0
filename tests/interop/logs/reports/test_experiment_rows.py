"""Rows of experiments (LangSmith's evaluate(), Opik): what gives only right and wrong decides, and a scorer that broke decides nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from minions_evals_mcp.cli.keep.log_imports import form_name
from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.tagged_values import obj
from tests.shared.interop.experiment_shapes import (
    PLAN,
    RIGHT,
    langsmith_rows,
    langsmith_table,
    opik_experiment,
    opik_results,
    opik_trace,
)
from tests.shared.interop.makers import extra, foreign, kept

Written = Callable[[Path], Path]


def _as(name: str, value: object) -> Written:
    def write(folder: Path) -> Path:
        (folder / name).write_text(json.dumps(value), "utf-8")
        return folder / name

    return write


def _lines(folder: Path) -> Path:
    (folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in langsmith_rows()), "utf-8")
    return folder / "r.jsonl"


def _csv(folder: Path) -> Path:
    with (folder / "r.csv").open("w", newline="", encoding="utf-8") as file:
        rows = langsmith_table()
        table = csv.DictWriter(file, [*rows[0]])
        table.writeheader()
        table.writerows(rows)
    return folder / "r.csv"


LANGSMITH = {
    "list": _as("r.json", langsmith_rows()),
    "lines": _lines,
    "wrapped": _as("r.json", {"experiment_name": "x", "results": langsmith_rows()}),
    "table": _as("r.json", langsmith_table()),
    "csv": _csv,
}
OPIK = {"export": _as("experiment_1.json", opik_experiment()), "result": _as("r.json", opik_results())}
ALL = [("langsmith-evaluate", made) for made in LANGSMITH.values()] + [("opik", made) for made in OPIK.values()]
NAMES = [*LANGSMITH, *OPIK]


def _scorers(case: Record[TestCase]) -> list[str]:
    return [str(obj(one.value)["scorer"]) for one in case.fields.assertions]


def _same(run: Record[AgentRun]) -> dict[str, object]:
    return next((score for score in foreign(run) if score["name"] == "same"), dict[str, object]())


@pytest.mark.parametrize(("form", "made"), ALL, ids=NAMES)
def test_what_gives_only_right_and_wrong_decides_in_every_row(tmp_path: Path, form: str, made: Written) -> None:
    path = made(tmp_path)
    assert form_name(path) == form
    cases, runs = kept(path, form)
    assert [_scorers(case) for case in cases] == [["same"]] * len(PLAN)
    assert [case.fields.expected_outputs and [*case.fields.expected_outputs.values()] for case in cases] == [
        [RIGHT]
    ] * len(PLAN)
    assert [_same(run).get("value") for run in runs[:2]] in ([True, False], [1.0, 0.0])
    assert all(_same(run).get("value") is None for run in runs[2:3])


@pytest.mark.parametrize("made", LANGSMITH.values(), ids=[*LANGSMITH])
def test_a_run_that_failed_is_no_output_of_langsmith(tmp_path: Path, made: Written) -> None:
    runs = kept(made(tmp_path), "langsmith-evaluate")[1]
    assert [run.fields.status for run in runs] == ["success", "success", "success", "failed"]
    assert [run.fields.error_message for run in runs][3] == "boom"


def test_runs_of_langsmith_without_an_example_are_cases_by_what_they_were_asked(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"run": {"id": f"r{place}", "inputs": {"question": asked}, "outputs": {"answer": "a"}}, "evaluation_results": {"results": []}}
        for place, asked in enumerate("xyx")
    ]  # fmt: skip
    cases, runs = kept(_as("r.json", rows)(tmp_path), "langsmith-evaluate")
    assert {str(case.fields.inputs) for case in cases} == {"{'question': 'x'}", "{'question': 'y'}"}
    assert [extra(run)["log"].get("epoch", 1) for run in runs] == [1, 1, 2]


def test_tools_below_a_run_of_langsmith_are_its_calls(tmp_path: Path) -> None:
    run = kept(_lines(tmp_path), "langsmith-evaluate")[1][0]
    assert [(step.tool, step.arguments, step.result) for step in run.fields.tool_calls_log or ()] == [
        ("look", {"q": 1}, 2)
    ]


def test_a_trace_of_opik_is_read_with_its_tools(tmp_path: Path) -> None:
    path = _as("trace_t.json", opik_trace())(tmp_path)
    assert form_name(path) == "opik-trace"
    (run,) = kept(path, "opik-trace")[1]
    assert (run.fields.inputs, run.fields.outputs, run.fields.group) == ({"input": "Hi"}, {"output": "Hello"}, "th")
    assert [(step.tool, step.result) for step in run.fields.tool_calls_log or ()] == [("look", 2)]
    assert extra(run)["log"]["format"] == "opik-trace"
