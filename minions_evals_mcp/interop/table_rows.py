"""Rows of a user's own data, one after the other: CSV, TSV, JSON lines, a JSON list, Parquet. Only a JSON list is held whole."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, cast

from pydantic import TypeAdapter

from minions_evals_mcp.bounded_files import read_text
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError, legible
from minions_evals_mcp.interop.containers import container
from minions_evals_mcp.interop.parsing import parse_json
from minions_evals_mcp.interop.text_table import SEPARATORS, read_text_table
from minions_evals_mcp.sandbox.child_environment import child_environment
from minions_evals_mcp.unpacked_files import is_packed, unpacked

LINES = (".jsonl", ".ndjson")
LIST = ".json"
PARQUET = ".parquet"
SUFFIXES = (*SEPARATORS, *LINES, PARQUET)
_LABELS = TypeAdapter(dict[str, list[str]])
_WORKER = "minions_evals_mcp.interop.parquet_worker"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row and where it begins; in a table of text every cell is a string."""

    where: str
    cells: Json
    is_text: bool


def read_rows(path: Path) -> Iterator[TableRow]:
    """The rows of the file, whose kind its name tells.

    Raises `InvalidRecordError` with file and line while rows are read, `UnsupportedError` for another kind of file.
    """
    if is_packed(path):
        return _unpacked_rows(path)
    kind = path.suffix.lower()
    if kind in SEPARATORS:
        return _text_rows(path)
    if kind in LINES:
        return _json_rows(path)
    if kind == LIST:
        return _listed_rows(path)
    if kind == PARQUET:
        return _parquet_rows(path)
    if (known := container(path)) is not None:
        raise UnsupportedError(f"{path} is {known.is_a}.", remedy=known.remedy)
    raise UnsupportedError(
        f"{path} is not a table.", remedy=f"Rows are read from {', '.join((*SUFFIXES, LIST))} files."
    )


def _unpacked_rows(path: Path) -> Iterator[TableRow]:
    with unpacked(path) as plain:
        for row in read_rows(plain):
            yield replace(row, where=row.where.replace(str(plain), str(path)))


def _text_rows(path: Path) -> Iterator[TableRow]:
    for row in read_text_table(path):
        yield TableRow(f"{path}:{row.line}", dict(row.cells), is_text=True)


def _json_rows(path: Path) -> Iterator[TableRow]:
    with legible(path), path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            document = parse_json(line.strip(), str(path), line=number)
            if not isinstance(document, dict):
                raise InvalidRecordError("a row is a JSON object", where=f"{path}:{number}")
            yield TableRow(f"{path}:{number}", cast("Json", document), is_text=False)


def _listed_rows(path: Path) -> Iterator[TableRow]:
    """The rows of a JSON list, which is read whole, up to the limit of such files."""
    with legible(path):
        text = read_text(path)
    document = parse_json(text.strip(), str(path))
    if not isinstance(document, list):
        raise InvalidRecordError("a JSON file of rows is a list of objects", where=str(path))
    for number, row in enumerate(cast("list[object]", document), 1):
        if not isinstance(row, dict):
            raise InvalidRecordError("a row is a JSON object", where=f"{path}: row {number}")
        yield TableRow(f"{path}: row {number}", cast("Json", row), is_text=False)


def _parquet_rows(path: Path) -> Iterator[TableRow]:
    for number, line in enumerate(_read_elsewhere(path, "rows"), 1):
        yield TableRow(f"{path}:{number}", cast("Json", line["row"]), is_text=False)


def parquet_labels(path: Path) -> dict[str, list[str]]:
    """The names of a Parquet file's classes, by column; raises as reading its rows does."""
    lines = [*_read_elsewhere(path, "labels")]
    return _LABELS.validate_python(lines[0]["labels"]) if lines else {}


def _read_elsewhere(path: Path, question: str) -> Iterator[Json]:
    """The lines of a process that reads the file; one that dies of it costs no more than the file."""
    if find_spec("pyarrow") is None:
        raise UnsupportedError(
            "Parquet needs the package pyarrow, which is not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[parquet]'",
        )
    command = (sys.executable, "-P", "-m", _WORKER, question, str(path))
    with legible(path), path.open("rb") as file:
        process = subprocess.Popen(  # noqa: S603  our own program
            command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=child_environment()
        )
    with process:
        assert process.stdout is not None
        try:
            yield from _lines(process.stdout, path)
        finally:
            process.kill()


def _lines(answers: IO[bytes], path: Path) -> Iterator[Json]:
    for answer in answers:
        line = cast("Json", json.loads(answer))
        if "refused" in line:
            raise InvalidRecordError(str(line["refused"]), where=str(line["where"]))
        if "end" in line:
            return
        yield line
    raise InvalidRecordError("no Parquet: what reads it died of it", where=str(path))
