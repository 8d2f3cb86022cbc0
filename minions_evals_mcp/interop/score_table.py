"""Tables to score, from files: CSV, JSON lines, a JSON list of rows, or what scoring code returned."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp import bounded_files
from minions_evals_mcp.errors import InvalidRecordError, legible
from minions_evals_mcp.interop.finite_numbers import vet_finite
from minions_evals_mcp.interop.text_table import read_text_table
from minions_evals_mcp.scoring.score_card import Row
from minions_evals_mcp.scoring.score_matrix import CustomScore, custom_score
from minions_evals_mcp.unpacked_files import is_packed, unpacked

JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def read_table(path: Path) -> Iterator[Row] | CustomScore:
    """The rows of a `.csv`, `.tsv` or `.json` file, else of JSON lines; of a JSON object the score that it holds.

    Raises `InvalidRecordError` with file and line, while rows are read.
    """
    if is_packed(path):
        return _unpacked_rows(path)
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return _csv_rows(path)
        case ".json":
            return _json_rows(path)
        case _:
            return _json_lines(path)


def _unpacked_rows(path: Path) -> Iterator[Row] | CustomScore:
    with unpacked(path) as plain:
        table = read_table(plain)
        return table if isinstance(table, CustomScore) else iter([*table])


def _csv_rows(path: Path) -> Iterator[Row]:
    for row in read_text_table(path):
        yield {name: csv_cell(cell) for name, cell in row.cells.items()}


def csv_cell(text: str) -> JsonValue:
    """The value of a CSV cell: true and false in any case are Booleans, JSON numbers that are not too large numbers, the rest text."""
    plain = text.strip()
    match plain.lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            number = float(plain) if JSON_NUMBER.fullmatch(plain) else math.inf
            return number if math.isfinite(number) else text


def _json_lines(path: Path) -> Iterator[Row]:
    with legible(path), path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _row(_json(line, f"{path}:{number}"), f"{path}:{number}")


def _json_rows(path: Path) -> Iterator[Row] | CustomScore:
    with legible(path):
        document = _json(bounded_files.read_bytes(path), str(path))
    if isinstance(document, list):
        return iter([_row(row, f"{path}: row {number}") for number, row in enumerate(document, 1)])
    try:
        return custom_score(document)
    except InvalidRecordError as error:
        raise error.at(str(path)) from None


def _json(text: bytes, where: str) -> JsonValue:
    try:
        document: JsonValue = from_json(text.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
    except ValueError as error:
        raise InvalidRecordError(f"no JSON: {error}", where=where) from None
    try:
        vet_finite(document)
    except InvalidRecordError as error:
        raise error.at(where) from None
    return document


def _row(value: JsonValue, where: str) -> Row:
    if not isinstance(value, dict):
        raise InvalidRecordError("a row is a JSON object", where=where)
    return value
