"""Tables to score, read from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.score_table import csv_cell, read_table
from minions_evals_mcp.scoring.score_card import Row
from minions_evals_mcp.scoring.score_matrix import CustomScore


def rows(folder: Path, name: str, content: str | bytes) -> list[Row]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = read_table(path)
    assert not isinstance(found, CustomScore)
    return list(found)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("TRUE", True), (" False ", False), ("fAlSe", False),
        ("1", 1.0), ("-0.5e+3", -500.0), (" 7 ", 7.0), ("0", 0.0),
        ("007", "007"), ("1.", "1."), (".5", ".5"), ("+1", "+1"), ("1,5", "1,5"), ("NaN", "NaN"), ("inf", "inf"),
        ("\u0661", "\u0661"), ("1_000", "1_000"), ("yes", "yes"), ("", ""), (" ", " "), ("t", "t"),
    ],
)  # fmt: skip
def test_csv_cells_are_booleans_in_any_case_json_numbers_or_text(text: str, value: JsonValue) -> None:
    found = csv_cell(text)
    assert (found, type(found)) == (value, type(value))


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**15), 10**15))
def test_every_json_number_is_a_number_in_csv(number: float) -> None:
    assert csv_cell(to_json(number).decode()) == number


def test_csv_has_quotes_line_breaks_and_a_mark_at_its_front(tmp_path: Path) -> None:
    text = '\ufeffid,"a, b",ok\r\n1,"two\nlines, ""said""",true\r\n\r\n2,x,\r\n'
    assert rows(tmp_path, "t.csv", text) == [
        {"id": 1.0, "a, b": 'two\nlines, "said"', "ok": True},
        {"id": 2.0, "a, b": "x", "ok": ""},
    ]
    assert rows(tmp_path, "T.CSV", "a\n") == []


def test_a_csv_cell_may_be_as_long_as_an_output_of_a_model(tmp_path: Path) -> None:
    assert rows(tmp_path, "t.csv", "a,b\n" + "x" * 200_000 + ",1\n") == [{"a": "x" * 200_000, "b": 1.0}]


def test_json_lines_and_json_lists_keep_their_types(tmp_path: Path) -> None:
    told: list[Row] = [{"a": 1, "b": True, "c": "true", "d": None}, {"a": 2.5}]
    assert rows(tmp_path, "t.jsonl", b"\xef\xbb\xbf" + b"\n\n".join(to_json(one) for one in told)) == told
    assert rows(tmp_path, "t", b"\n".join(to_json(one) for one in told)) == told
    assert rows(tmp_path, "t.json", to_json(told)) == told


def test_a_json_object_is_what_scoring_code_returned(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"score": 3, "score_matrix": [[["T", 1], [2]]]}')
    found = read_table(path)
    assert isinstance(found, CustomScore)
    assert (found.score, found.score_matrix[0].title) == (3.0, "T")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", "a,b\n1,2\n1,2,3\n", "t.csv:3: 3 cells under 2 columns"),
        ("t.csv", "a,b,a\n", "t.csv:1: duplicate column 'a'"),
        ("t.csv", 'a\n"1"x\n', "t.csv:2: no table: "),
        ("t.csv", b"a\n\xff\n", "t.csv: not UTF-8"),
        ("t.jsonl", '{"a": 1}\n\n{bad\n', "t.jsonl:3: no JSON: "),
        ("t.jsonl", '{"a": 1}\n[1]\n', "t.jsonl:2: a row is a JSON object"),
        ("t.jsonl", '{"a": NaN}\n', "t.jsonl:1: no JSON: "),
        ("t.json", "{", "t.json: no JSON: "),
        ("t.json", "[{}, 1]", "t.json: row 2: a row is a JSON object"),
        ("t.json", '{"rows": []}', "t.json: rows: unknown key"),
        ("t.json", "7", "t.json: must be an object with a score"),
    ],
)
def test_what_is_no_table_is_refused_with_file_and_line(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    with pytest.raises(BadInputError) as found:
        rows(tmp_path, name, content)
    assert said in str(found.value)


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.jsonl"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInputError, match="cannot be read: No such file"):
        list(cast("Iterator[Row]", read_table(tmp_path / name)))
