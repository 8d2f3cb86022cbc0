"""What no format has a word for is kept: a key of nobody's in every object of every format comes back out of what is made of it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from minions_evals_mcp.interop.log_formats.table import named, opened
from minions_evals_mcp.interop.logs.records import records, version
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample, Recorded
from tests.shared.interop.makers import Json, packed
from tests.shared.interop.whole_files import WHOLE

LEFT_OUT: dict[str, tuple[str, ...]] = {
    "inspect-json": ("samples/*/events/*", ""),
    "inspect-eval": ("events/*",),
    "mlflow": ("*/data/spans/*", "*/data/spans/*/attributes"),
    "otel": (
        "*", "*/resourceSpans/*", "*/resourceSpans/*/resource", "*/resourceSpans/*/scopeSpans/*",
        "*/resourceSpans/*/resource/attributes/*", "*/resourceSpans/*/resource/attributes/*/value",
        "*/resourceSpans/*/scopeSpans/*/spans/*/attributes/*", "*/resourceSpans/*/scopeSpans/*/spans/*/attributes/*/value",
    ),
}  # fmt: skip
"""Where objects only hold others, or are counted and left out (docs/reference/log-formats.md): spans below the root, events."""
NO_OBJECTS = ("parquet", "every-eval-ever-results")
SESSIONS = ("claude-code", "codex", "gemini-cli", "opencode", "otel-logs")
"""Formats of which only what docs/how-to/evaluate-coding-agents.md names is kept: their files hold whole system prompts."""


def _objects(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        yield "/".join(path), cast("Json", value)
    parts = cast("dict[Any, Any]", value).items() if isinstance(value, dict) else enumerate(cast("list[Any]", value))
    for key, part in parts:
        if isinstance(part, dict | list):
            yield from _objects(part, (*path, "*" if isinstance(value, list) else str(key)))


def _marked(document: Any, marks: dict[str, str]) -> Any:
    """The document with a key of nobody's in each of its objects."""
    for path, held in list(_objects(document)):
        mark = f"mark {len(marks)}."
        marks[mark] = path
        held["zzNobodys"] = {"zz": mark}
    return document


def _made(form: str, path: Path) -> str:
    """All that becomes of the file's log."""
    log, items = opened(named(form), path)
    held = list(items)
    tried = {item.produced.variant: None for item in held if isinstance(item, LogSample) and item.produced is not None}
    wires = [wire for item in held for wire in _wires(log, item)]
    return json.dumps([*wires, *(version(log, variant) for variant in tried)])


def _wires(log: EvaluationLog, item: Item) -> list[Json]:
    return [*records(log, item)] if isinstance(item, LogSample) else [item.wire] if isinstance(item, Recorded) else []


@pytest.mark.parametrize("form", [form for form in WHOLE if form not in (*NO_OBJECTS, *SESSIONS)])
def test_a_key_that_no_format_knows_is_kept_wherever_it_stands(tmp_path: Path, form: str) -> None:
    file, make = WHOLE[form]
    path, marks = make(tmp_path / file), dict[str, str]()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            told = {name: json.loads(archive.read(name)) for name in archive.namelist() if "journal" not in name}
        packed(path, {name: json.dumps(_marked(part, marks)) for name, part in told.items()})
    elif path.suffix == ".jsonl":
        lines = _marked([json.loads(line) for line in path.read_text("utf-8").splitlines()], marks)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    else:
        path.write_text(json.dumps(_marked(json.loads(path.read_text("utf-8")), marks)), "utf-8")
    made = _made(form, path)
    assert {place for mark, place in marks.items() if mark not in made} <= {*LEFT_OUT.get(form, ())}
    assert any(mark in made for mark in marks)
