"""Rows of a user's own data, one after the other: CSV, TSV, JSON lines, Parquet. The file is never held whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError, legible
from minions_evals_mcp.interop.parsing import parse_json
from minions_evals_mcp.interop.text_table import SEPARATORS, read_text_table

LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
SUFFIXES = (*SEPARATORS, *LINES, PARQUET)
_JSON: TypeAdapter[Json] = TypeAdapter(Json)


@dataclass(frozen=True, slots=True)
class Row:
    """One row and where it begins; in a table of text every cell is a string."""

    where: str
    cells: Json
    is_text: bool


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of the file, whose kind its name tells.

    Raises `InvalidRecordError` with file and line while rows are read, `UnsupportedError` for another kind of file.
    """
    kind = path.suffix.lower()
    if kind in SEPARATORS:
        return _text_rows(path)
    if kind in LINES:
        return _json_rows(path)
    if kind == PARQUET:
        return _parquet_rows(path)
    raise UnsupportedError(f"{path} is no table.", remedy=f"Rows are read from {', '.join(SUFFIXES)} files.")


def _text_rows(path: Path) -> Iterator[Row]:
    for row in read_text_table(path):
        yield Row(f"{path}:{row.line}", dict(row.cells), is_text=True)


def _json_rows(path: Path) -> Iterator[Row]:
    with legible(path), path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            document = parse_json(line.strip(), str(path), line=number)
            if not isinstance(document, dict):
                raise InvalidRecordError("a row is a JSON object", where=f"{path}:{number}")
            yield Row(f"{path}:{number}", cast("Json", document), is_text=False)


def _parquet_rows(path: Path) -> Iterator[Row]:
    if find_spec("pyarrow") is None:
        raise UnsupportedError(
            "Parquet needs the package pyarrow, which is not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[parquet]'",
        )
    import pyarrow as pa  # noqa: PLC0415  an extra, and slow: imported at first use

    from minions_evals_mcp.interop.parquet_file import parquet_rows  # noqa: PLC0415  as above

    number = 0
    try:
        with legible(path), path.open("rb") as file:
            for cells in _whole(parquet_rows(file, str(path))):
                number += 1
                yield Row(f"{path}:{number}", _plain(cells, f"{path}:{number}"), is_text=False)
    except (pa.ArrowException, OverflowError, _DamagedError) as error:  # pyright: ignore[reportUnknownVariableType]  pyarrow brings no types
        raise InvalidRecordError(f"no Parquet: {error}", where=str(path)) from None


class _DamagedError(Exception):
    """pyarrow cannot read on, which it says as if the system could not."""


def _whole(rows: Iterator[dict[str, object]]) -> Iterator[dict[str, object]]:
    try:
        yield from rows
    except OSError as error:
        if error.errno is not None:
            raise
        raise _DamagedError(str(error).splitlines()[0]) from None


def _plain(cells: dict[str, object], where: str) -> Json:
    """The cells as JSON: dates as their text."""
    try:
        return _JSON.validate_python(to_jsonable_python(cells, inf_nan_mode="constants"))
    except (ValidationError, ValueError) as error:
        raise InvalidRecordError(f"cannot be JSON: {str(error).splitlines()[0]}", where=where) from None
