"""Tests in a CSV file: a column is a variable, those that begin with two underscores say the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    return {} if name == "__metadata" else {name: cell}  # refused by its name with whatever else a test may not hold


def _metadata(name: str, cell: str) -> tuple[str, JsonValue]:
    if not name.endswith("[]"):
        return name, cell
    return name.removesuffix("[]"), [part.strip().replace("\\,", ",") for part in _SPLIT.split(cell)]


def _assertions(row: dict[str, str], place: str) -> list[JsonValue]:
    """The assertions in the cells under `__expected…`, with the metric and thresholds that other columns give them."""
    assertions: list[JsonValue] = []
    for name, cell in row.items():
        if not name.startswith("__expected") or not cell.strip():
            continue
        made = in_short(cell.strip())
        assert isinstance(made, dict)
        if metric := row.get("__metric", "").strip():
            made["metric"] = metric
        assertions.append(made)
    for name, cell in row.items():
        config = _CONFIG.fullmatch(name)
        number = int(config[1] or 1) if config else 0
        if config and cell.strip() and 1 <= number <= len(assertions):
            made = assertions[number - 1]
            assert isinstance(made, dict)
            made["threshold"] = _number(cell, name, place)
    return assertions


def _number(cell: str, name: str, place: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InvalidRecordError(f"must be a number, not {cell!r}", field=name, where=place) from None
