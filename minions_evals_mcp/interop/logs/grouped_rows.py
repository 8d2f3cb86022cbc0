"""Exports that are rows: a line each, or the elements of a list; those of one key together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.interop.logs.files import json_lines, json_pieces
from minions_evals_mcp.interop.logs.gathering import LogRow, gathered
from minions_evals_mcp.interop.logs.shapes import the_object

Key = Callable[[Json], str | None]


def rows_of(path: Path, lists: frozenset[str]) -> Iterator[tuple[str, Json]]:
    """The rows of a file: a line each, or the elements of those lists, or the whole document as one."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from ((where, the_object(line, where)) for where, line in json_lines(path))
        return
    head: Json = {}
    is_list = False
    for place, piece in enumerate(json_pieces(path, streamed=lists)):
        where = f"{path}: {place}"
        if piece.path in lists:
            is_list = True
            yield where, the_object(piece.value, where)
        else:
            head[piece.path] = piece.value
    if head and not is_list:
        yield str(path), head


def first_row(path: Path, lists: frozenset[str]) -> Json:
    """The first row, which says where all of them come from; empty where there is none."""
    return next((row for _, row in rows_of(path, lists)), dict[str, JsonValue]())


def groups(path: Path, lists: frozenset[str], key: Key) -> Iterator[tuple[str, list[Json]]]:
    """The rows of one key together, and where the last of them stands; a row without a key is alone."""
    for group in gathered(lambda: (LogRow(where, key(row), row) for where, row in rows_of(path, lists))):
        yield group.where, group.values
