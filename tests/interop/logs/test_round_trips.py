"""Nothing is lost in silence: every field of a file of every format makes a difference to what is kept, or is named as not taken."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from minions_evals_mcp.cli.keep.log_imports import explained
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.log_formats.table import named, opened
from minions_evals_mcp.interop.logs.not_taken import NOT_TAKEN
from minions_evals_mcp.interop.logs.records import records, version
from minions_evals_mcp.interop.logs.sample import LogSample, Recorded
from tests.shared.interop.makers import packed
from tests.shared.interop.whole_files import WHOLE

Path_ = tuple[str | int, ...]
TABLES = ("parquet", "every-eval-ever-results")
"""Formats whose columns and aggregates are tested in their own files."""

_GIVEN: dict[str, Any] = {
    "Contains": {"value": "A", "case_sensitive": False, "evaluation_name": "has"},
    "LLMJudge": {"rubric": "is kind", "model": "m", "include_expected_output": True, "score": {"evaluation_name": "s"}},
    "Own": {"most": 3},
}
EVALUATORS: dict[str, Any] = {
    "pydantic-evals": {
        "name": "geo", "report_evaluators": [{"ConfusionMatrixEvaluator": {"title": "t"}}],
        "evaluators": ["EqualsExpected", *({name: given} for name, given in _GIVEN.items())],
        "cases": [{"name": "a", "inputs": "?", "expected_output": "A", "evaluators": [{"GEval": {"criteria": "c"}}]}],
    },
    "strands": {
        "cases": [{"name": "a", "input": "?", "expected_output": "A", "expected_assertion": "said"}],
        "evaluators": [
            {"evaluator_type": "Equals", "name": "same"}, {"evaluator_type": "StartsWith", "value": "A", "case_sensitive": False},
            {"evaluator_type": "OutputEvaluator", "rubric": "is kind", "model_id": "m", "system_prompt": "p"},
            {"evaluator_type": "ToolCalled", "tool_name": "look"}, {"evaluator_type": "Own", "most": 3},
        ],
    },
}  # fmt: skip
"""Suites whose evaluators have options that mean something here, and such that do not."""


def _leaves(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    if isinstance(value, dict | list):
        held = cast("dict[str, Any]", value)
        parts = held.items() if isinstance(value, dict) else enumerate(cast("list[Any]", value))
        for key, part in parts:
            yield from _leaves(part, (*path, key))
    elif value is not None:
        yield path, value


def _other(value: bool | float | str) -> bool | float | str:
    """Another value that can stand there."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if value.isdigit():
        return str(int(value) + (7_000_000_000 if len(value) > 15 else 1))
    is_time = value[:4].isdigit() and "T" in value and len(value) >= 19
    return f"{value[:17]}{'31' if value[17:19] != '31' else '32'}{value[19:]}" if is_time else f"{value}zq"


def _at(document: Any, path: Path_) -> Any:
    for key in path:
        document = document[key]
    return document


def _field(document: Any, path: Path_) -> str:
    """What a place is called: `*` for the elements of a list and the members of an archive, an attribute by its key."""
    if len(path) > 2 and path[-2] == "value" and "key" in (held := _at(document, path[:-2])):
        return f"{'/'.join('*' if isinstance(key, int) else key for key in path[:-3])} {held['key']}"
    return "/".join("*" if isinstance(key, int) or key.endswith(".json") else key for key in path)


def _made(form: str, path: Path) -> str:
    log, items = opened(named(form), path)
    held = list(items)
    tried = {item.produced.variant: None for item in held if isinstance(item, LogSample) and item.produced is not None}
    samples = [wire for item in held if isinstance(item, LogSample) for wire in records(log, item)]
    runs = [item.wire for item in held if isinstance(item, Recorded)]
    return json.dumps([samples, runs, [version(log, variant) for variant in tried]], sort_keys=True)


def _read(path: Path) -> Any:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return {name: json.loads(archive.read(name)) for name in archive.namelist() if "journal" not in name}
    text = path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)


def _write(path: Path, document: Any) -> None:
    if zipfile.is_zipfile(path):
        packed(path, {name: json.dumps(part) for name, part in document.items()})
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in document), "utf-8")
    else:
        path.write_text(json.dumps(document), "utf-8")


def _lost(form: str, path: Path) -> Iterator[str]:
    """The fields of the file that make no difference, whatever they say."""
    document = _read(path)
    _write(path, document)
    before, fields = _made(form, path), dict[str, list[Path_]]()
    for place, _ in _leaves(document):
        fields.setdefault(_field(document, place), []).append(place)
    for field, places in fields.items():
        changed = copy.deepcopy(document)
        for place in places:
            _at(changed, place[:-1])[place[-1]] = _other(_at(document, place))
        _write(path, changed)
        try:
            if _made(form, path) == before:
                yield field
        except EvalsError:
            continue  # it is refused, by name


def _is_named(field: str, form: str) -> bool:
    parts = f"/{field.replace(' ', '/')}/"
    return any(f"/{name}/" in parts for name in NOT_TAKEN.get(form, {}))


@pytest.mark.parametrize("form", EVALUATORS)
def test_what_evaluators_are_given_is_found_again(tmp_path: Path, form: str) -> None:
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(EVALUATORS[form]), "utf-8")
    assert [*_lost(form, path)] == []


@pytest.mark.parametrize("form", [form for form in WHOLE if form not in TABLES])
def test_every_field_is_found_again_or_named_as_not_taken(tmp_path: Path, form: str) -> None:
    file, make = WHOLE[form]
    lost = [*_lost(form, make(tmp_path / file))]
    assert [field for field in lost if not _is_named(field, form)] == []
    idle = [
        name
        for name in NOT_TAKEN.get(form, {})
        if not any(f"/{name}/" in f"/{field.replace(' ', '/')}/" for field in lost)
    ]
    assert idle == [], "these are taken"


def test_what_is_not_taken_stands_in_the_explanation(tmp_path: Path) -> None:
    file, make = WHOLE["codex"]
    assert explained(make(tmp_path / file), None)["notTaken"] == {"ordinal": "bookkeeping of the tool"}
    assert {*NOT_TAKEN} <= {*WHOLE}
