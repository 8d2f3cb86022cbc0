"""A table of text is read, or refused at the same line, alike at every interface that takes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import EvalsError, InvalidRecordError
from minions_evals_mcp.evaluation.case import cases_in
from minions_evals_mcp.interop.promptfoo_config.csv_tests import read_csv
from minions_evals_mcp.interop.score_table import read_table
from minions_evals_mcp.interop.table_rows import read_rows

Rows = list[Json]


def _imported(path: Path) -> Rows:
    return [row.cells for row in read_rows(path)]


def _evaluated(path: Path) -> Rows:
    return [_object(case.inputs) for case in cases_in(path)]


def _tested(path: Path) -> Rows:
    return [_object(_object(node.value)["vars"]) for node in read_csv(path, path.parent)]


def _scored(path: Path) -> Rows:
    rows = read_table(path)
    assert isinstance(rows, Iterator), "a CSV file holds rows"
    return [dict(row.items()) for row in rows]


def _object(value: object) -> Json:
    assert isinstance(value, dict)
    return value  # pyright: ignore[reportUnknownVariableType]  its keys are texts


INTERFACES: dict[str, Callable[[Path], Rows]] = {
    "import --as": _imported, "evaluate": _evaluated, "promptfoo's tests": _tested, "scorecard": _scored,
}  # fmt: skip
LONG = "x" * 10_000_000
READ: dict[str, tuple[str | bytes, list[dict[str, JsonValue]]]] = {
    "commas": ("q,r\na,b\n", [{"q": "a", "r": "b"}]),
    "a byte order mark": (b"\xef\xbb\xbfq,r\r\na,b\r\n", [{"q": "a", "r": "b"}]),
    "semicolons": ("q;r\na,x;b\n", [{"q": "a,x", "r": "b"}]),
    "semicolons, and a comma in quotes": ('"q, or so";r\na;b\n', [{"q, or so": "a", "r": "b"}]),
    "tabs": ("q\tr\na\tb\n", [{"q": "a", "r": "b"}]),
    "Excel's line that names the separator": ("sep=;\r\nq;r\r\na;b\r\n", [{"q": "a", "r": "b"}]),
    "old line ends": ("q,r\ra,b\rc,d\r", [{"q": "a", "r": "b"}, {"q": "c", "r": "d"}]),
    "line breaks in quotes": ('q,r\n"a\nA","say ""b"""\n', [{"q": "a\nA", "r": 'say "b"'}]),
    "line breaks of Windows in quotes": ('q,r\r\n"a\r\nA",b\r\n', [{"q": "a\r\nA", "r": "b"}]),
    "lines without text": ("q,r\n\na,b\n,\n  , \n", [{"q": "a", "r": "b"}]),
    "white space around names": ("q , r\na,b\n", [{"q": "a", "r": "b"}]),
    "a blank after each separator": ('q, r\na, "b, c"\nd,  e\n', [{"q": "a", "r": "b, c"}, {"q": "d", "r": "e"}]),
    "a blank after each separator that is named": ("sep=;\nq; r\na; b\n", [{"q": "a", "r": "b"}]),
    "a blank after some separators": ("q, r,s\na, b,c\n", [{"q": "a", "r": " b", "s": "c"}]),
    "Excel's empty columns": ("q,r,,\na,b,,\n,,,\n", [{"q": "a", "r": "b"}]),
    "one column": ("q\na\n", [{"q": "a"}]),
    "10 MB in a cell": (f"q,r\n{LONG},b\n", [{"q": LONG, "r": "b"}]),
}
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a cell too many": ("q,r\na,b\na,b,c\n", ":3"),
    "a cell too few": ('q,r\n"a\nA",b\n\na\n', ":5"),
    "a cell too many, with semicolons": ("sep=;\nq;r\na;b;c\n", ":3"),
    "a column twice": ("q,r,q\na,b,c\n", ":1"),
    "a column twice but for white space": ("q,r, q\na,b,c\n", ":1"),
    "a column without a name": ("q,,r\na,b,c\n", ":1"),
    "text in a column without a name": ("q,r,\na,b,\na,b,c\n", ":3"),
    "a quote that is not closed": ('q,r\na,"b\n', ":2"),
    "text after a quote": ('q,r\n"a"x,b\n', ":2"),
    "nothing": ("", ":1"),
}


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("form", READ)
def test_a_table_is_read_alike_at_every_interface(tmp_path: Path, form: str, interface: str) -> None:
    content, rows = READ[form]
    assert INTERFACES[interface](written(tmp_path, content)) == rows


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("form", REFUSED)
def test_what_is_no_table_is_refused_at_its_line_at_every_interface(tmp_path: Path, form: str, interface: str) -> None:
    content, line = REFUSED[form]
    path = written(tmp_path, content)
    with pytest.raises(InvalidRecordError) as error:
        INTERFACES[interface](path)
    assert error.value.where == f"{path}{line}"


@pytest.mark.parametrize("interface", INTERFACES)
def test_text_that_is_not_utf_8_is_refused_with_the_file(tmp_path: Path, interface: str) -> None:
    path = written(tmp_path, "q,r\nä,b\n".encode("cp1252"))
    with pytest.raises(EvalsError, match=r"t\.csv.*UTF-8"):
        INTERFACES[interface](path)
