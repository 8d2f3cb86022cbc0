"""What a log is read as can be kept: wherever one of its values is missing, or is what JSON has no words for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.log_formats.table import named, opened
from minions_evals_mcp.interop.logs.records import records, version
from minions_evals_mcp.interop.logs.sample import LogSample, Recorded
from tests.shared.interop.makers import Json
from tests.shared.interop.whole_files import WHOLE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRIED = 25
"""Places of a file that are tried at most."""
Way = tuple[str | int, ...]


def _places(value: Any, way: Way = ()) -> Iterator[Way]:
    parts = cast("dict[str, Any]", value).items() if isinstance(value, dict) else enumerate(cast("list[Any]", value))
    for key, part in parts:
        yield (*way, key)
        if isinstance(part, dict | list):
            yield from _places(part, (*way, key))


def _with(document: Any, way: Way, value: float | str | None) -> Any:
    changed = held = deepcopy(document)
    for key in way[:-1]:
        held = held[key]
    held[way[-1]] = value
    return changed


def _written(path: Path, document: Any) -> None:
    lines = path.suffix == ".jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in document) if lines else json.dumps(document), "utf-8")


def _wires(form: str, path: Path) -> Iterator[Json]:
    log, items = opened(named(form), path)
    yield version(log)
    for item in items:
        if isinstance(item, LogSample):
            yield from records(log, item)
        elif isinstance(item, Recorded):
            yield item.wire


@pytest.mark.parametrize("value", [None, float("nan"), "half (\ud835) a pair"], ids=["null", "nan", "half"])
@pytest.mark.parametrize("form", [form for form, (file, _) in WHOLE.items() if file.endswith((".json", ".jsonl"))])
def test_what_is_read_of_a_log_with_a_value_missing_can_be_kept(
    tmp_path: Path, form: str, value: float | str | None
) -> None:
    """One row without an output, a tool without a name, NaN as a result: the reader refuses it by its place, or all of it is kept."""
    file, make = WHOLE[form]
    path = make(tmp_path / file)
    text = path.read_text("utf-8")
    document = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    places = [way for way in _places(document) if way[-1] != "threshold"]  # NaN as a threshold is refused by name
    for way in places[:: len(places) // TRIED + 1]:
        _written(path, _with(document, way, value))
        try:
            wires = [*_wires(form, path)]
        except EvalsError:
            continue
        for wire in wires:
            record_from_wire(wire, new_id="new", now=NOW)


OPENAI = [
    {"spec": {"eval_name": "t", "run_id": "r", "run_config": {"eval_spec": {"cls": "m:Includes"}}}},
    {"sample_id": "t.0", "type": "sampling", "data": {"prompt": "2+2?", "sampled": ["4"]}},
    {"sample_id": "t.0", "type": "match", "data": {"correct": True, "expected": "4", "picked": "4"}},
]
METRIC = {"name": "Relevancy", "score": 0.9, "success": True}


def test_a_sample_without_an_output_is_an_error_of_the_instrument_unless_a_recorded_score_judges_it(
    tmp_path: Path,
) -> None:
    broken = {"sample_id": "t.1", "type": "error", "data": {"type": "RateLimitError", "message": "slow down"}}
    asked = {"sample_id": "t.2", "type": "raw_sample", "data": {"input": "3+3?"}}
    log = tmp_path / "run.jsonl"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in (*OPENAI, broken, asked)), "utf-8")
    assert _outcomes("openai-evals", log) == [
        ("success", None), ("failed", "RateLimitError: slow down"), ("failed", "openai-evals recorded no output"),
    ]  # fmt: skip
    run = tmp_path / "test_run_1.json"
    case: Json = {"name": "a", "input": "q", "actualOutput": None}
    run.write_text(json.dumps({"testCases": [{**case, "metricsData": [METRIC]}, {**case, "metricsData": []}]}), "utf-8")
    assert _outcomes("deepeval", run) == [("success", None), ("failed", "deepeval recorded no output")]


def _outcomes(form: str, path: Path) -> list[tuple[object, object]]:
    runs = [wire["fields"] for wire in _wires(form, path) if wire["type"] == "agent-run"]
    return [(run["status"], run.get("errorMessage")) for run in runs]
