"""Tests in a CSV file: a column is a variable, those that begin with two underscores say the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite, nan
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.promptfoo_config.shorthand import in_short
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node, SourceFile
from minions_evals_mcp.interop.text_table import read_text_table

_CONFIG = re.compile(r"__config:__expected(\d*):threshold")
_OWN = (
    "__expected",
    "__prefix",
    "__suffix",
    "__description",
    "__providerOutput",
    "__metric",
    "__threshold",
    "__metadata",
    "__config:",
)
_SPLIT = re.compile(r"(?<!\\),")


def read_csv(path: Path, base: Path) -> Iterator[Node]:
    """Each row as the test that it stands for; raises `InvalidRecordError` naming file and line of a ragged one."""
    for row in read_text_table(path):
        test = _test(row.cells, f"{path}:{row.line}")
        yield Node(test, SourceFile(path, "", base, row.line))


def _test(row: dict[str, str], place: str) -> JsonValue:
    """A row as a test in the form that a YAML file has."""
    variables: Json = {}
    test: Json = {"vars": variables}
    metadata: Json = {}
    options: Json = {}
    for name, cell in row.items():
        if not name.startswith(_OWN):  # also __x, which means nothing there
            variables[name] = cell
        elif name in {"__prefix", "__suffix"}:
            options[name.removeprefix("__")] = cell
        elif name.startswith("__metadata:") and cell.strip():
            metadata.update([_metadata(name.removeprefix("__metadata:"), cell)])
        elif cell.strip():
            test.update(_column_fields(name, cell, place))
    checks = _assertions(row, place)
    for key, value in (("options", options), ("metadata", metadata), ("assert", checks)):
        if value:
            test[key] = value
    return test


def _column_fields(name: str, cell: str, place: str) -> Json:
    """Returns what a column of promptfoo's own adds to the test."""
    if name == "__description":
        return {"description": cell}
    if name == "__providerOutput":
        return {"providerOutput": cell}
    if name == "__threshold":
        return {"threshold": _number(cell, name, place)}
    if name == "__metric" or name.startswith("__expected") or _CONFIG.fullmatch(name):
        return {}
    if name.startswith("__config:") and name.count(":") == 2:
        raise InvalidRecordError(
            "configures nothing: name it __config:__expectedN:threshold, with N from 1", field=name, where=place
        )
    return {} if name == "__metadata" else {name: cell}  # refused by its name with whatever else a test may not hold


def _metadata(name: str, cell: str) -> tuple[str, JsonValue]:
    if not name.endswith("[]"):
        return name, cell
    return name.removesuffix("[]"), [part.strip().replace("\\,", ",") for part in _SPLIT.split(cell)]


def _assertions(row: dict[str, str], place: str) -> list[JsonValue]:
    """The assertions in the cells under `__expected…`, with the metric and thresholds that other columns give them."""
    made: dict[str, Json] = {}
    metric = row.get("__metric", "").strip()
    columns = [name for name in row if name.startswith("__expected")]
    for name in columns:
        if row[name].strip():
            assertion = in_short(row[name].strip())
            assert isinstance(assertion, dict)
            made[name] = {**assertion, "metric": metric} if metric else assertion
    for name, cell in row.items():
        if (config := _CONFIG.fullmatch(name)) and cell.strip():
            column = _configured(config, columns, place)
            if column in made:
                made[column]["threshold"] = _number(cell, name, place)
    return [*made.values()]


def _configured(config: re.Match[str], columns: list[str], place: str) -> str:
    """The column that a threshold is for: by its name, else by its number, counted from 1."""
    named = f"__expected{config[1]}"
    number = int(config[1] or 1)
    if named in columns:
        return named
    if not 1 <= number <= len(columns):
        raise InvalidRecordError(f"there is no column {named}", field=config[0], where=place)
    return columns[number - 1]


def _number(cell: str, name: str, place: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise InvalidRecordError(f"must be a number, not {cell!r}", field=name, where=place)
    return number
