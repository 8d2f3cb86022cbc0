"""Tables to score, from files: CSV, JSON lines, a JSON list of rows, or what scoring code returned."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp.errors import InvalidRecordError, legible
from minions_evals_mcp.scoring.score_card import Row
from minions_evals_mcp.scoring.score_matrix import CustomScore, custom_score

JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
LONGEST_CELL = 1 << 27


def read_table(path: Path) -> Iterator[Row] | CustomScore:
    """The rows of a `.csv` or `.json` file, else of JSON lines; of a JSON object the score that it holds.

    Raises `InvalidRecordError` with file and line, while rows are read.
    """
    match path.suffix.lower():
        case ".csv":
            return _csv_rows(path)
        case ".json":
            return _json_rows(path)
        case _:
            return _json_lines(path)


def _csv_rows(path: Path) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_CELL)  # an output of a model is longer than the module's 128 KB
    with legible(path), path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, strict=True)
        try:
            header = next(reader, list[str]())
            _vet_header(header, path)
            for cells in reader:
                if len(cells) > len(header):
                    raise InvalidRecordError(
                        f"{len(cells)} cells under {len(header)} columns", where=f"{path}:{reader.line_num}"
                    )
                if cells:
                    yield dict(zip(header, map(csv_cell, cells), strict=False))
        except csv.Error as error:
            raise InvalidRecordError(f"no CSV: {error}", where=f"{path}:{reader.line_num}") from None


def _vet_header(header: list[str], path: Path) -> None:
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InvalidRecordError(f"the column {twice!r} comes twice", where=f"{path}:1")


def csv_cell(text: str) -> JsonValue:
    """The value of a CSV cell: true and false in any case are Booleans, JSON numbers numbers, the rest is text."""
    plain = text.strip()
    match plain.lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            return float(plain) if JSON_NUMBER.fullmatch(plain) else text


def _json_lines(path: Path) -> Iterator[Row]:
    with legible(path), path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _row(_json(line, f"{path}:{number}"), f"{path}:{number}")


def _json_rows(path: Path) -> Iterator[Row] | CustomScore:
    with legible(path):
        document = _json(path.read_bytes(), str(path))
    if isinstance(document, list):
        return iter([_row(row, f"{path}: row {number}") for number, row in enumerate(document, 1)])
    try:
        return custom_score(document)
    except InvalidRecordError as error:
        raise error.at(str(path)) from None


def _json(text: bytes, where: str) -> JsonValue:
    try:
        return from_json(text.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
    except ValueError as error:
        raise InvalidRecordError(f"no JSON: {error}", where=where) from None


def _row(value: JsonValue, where: str) -> Row:
    if not isinstance(value, dict):
        raise InvalidRecordError("a row is a JSON object", where=where)
    return value
