"""Rows of a user's own data: read one by one, mapped onto fields, refused with file and line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields, TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError, InvalidRecordError, UnsupportedError
from minions_evals_mcp.interop.row_records import RowMapping, RowRecords, RowType
from minions_evals_mcp.interop.table_rows import read_rows
from tests.shared.presentation.typed import typed
from tests.workshop import START, Json


def written(folder: Path, name: str, content: str | bytes | list[Json]) -> Path:
    path = folder / name
    if isinstance(content, list):
        content = "\n".join(json.dumps(row) for row in content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def records(
    path: Path, kind: RowType = "test-case", columns: dict[str, str] | None = None, **fixed: str
) -> list[Record[Fields]]:
    rows = RowRecords(path, RowMapping(kind, columns or {}, fixed), now=START)
    return [one.record for batch in rows.batches(2) for one in batch]


def cases(path: Path, columns: dict[str, str] | None = None, **fixed: str) -> list[TestCase]:
    found = [one.fields for one in records(path, "test-case", columns, **fixed)]
    return [one for one in found if isinstance(one, TestCase)]


def refused(path: Path, kind: RowType = "test-case", columns: dict[str, str] | None = None) -> InvalidRecordError:
    with pytest.raises(InvalidRecordError) as caught:
        records(path, kind, columns)
    return caught.value


QA = {"inputs.question": "Q", "expectedOutputs.output": "A"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", '\ufeffQ,A,n\r\n"Why,\nso?",007,1\r\nHow?,,2\r\n'),
        ("a.TSV", 'Q\tA\tn\n"Why,\nso?"\t007\t1\nHow?\t\t2\n'),
        ("a.jsonl", [{"Q": "Why,\nso?", "A": "007", "n": 1}, {"Q": "How?", "A": None, "n": 2}]),
        ("a.json", '\ufeff [{"Q": "Why,\\nso?", "A": "007", "n": 1}, {"Q": "How?", "A": null, "n": 2}]\n'),
    ],
)
def test_columns_fill_the_fields_that_they_are_mapped_to(tmp_path: Path, name: str, content: str | list[Json]) -> None:
    first, second = cases(written(tmp_path, name, content), {**QA, "maxScore": "n"}, rubricId="r")
    assert (first.inputs, first.expected_outputs, first.max_score) == ({"question": "Why,\nso?"}, {"output": "007"}, 1)
    assert (second.inputs, second.expected_outputs, second.max_score) == ({"question": "How?"}, None, 2)
    assert (first.name, second.rubric_id) == ("Why, so?", "r")


def test_without_a_mapping_each_column_fills_the_field_of_its_name(tmp_path: Path) -> None:
    text = (
        'id,name,inputs.q,tags,assertions,timeoutMs\nc/1,One,hi,"a, b","[{""type"": ""is-json""}]",50\nc/2,Two,,[],,\n'
    )
    first, second = records(written(tmp_path, "a.csv", text))
    assert isinstance(first.fields, TestCase)
    assert isinstance(second.fields, TestCase)
    assert (first.id, first.title, first.fields.tags, first.fields.timeout_ms) == ("c/1", "One", ("a", "b"), 50)
    assert first.fields.assertions[0].type == "is-json"
    assert (second.fields.inputs, second.fields.tags, second.fields.timeout_ms) == ({"q": ""}, (), None)
    assert refused(written(tmp_path, "b.csv", "name,topic\nOne,x\n")).where.endswith("b.csv:2")


def test_dotted_columns_reach_into_nested_cells_and_a_name_with_a_dot_comes_first(tmp_path: Path) -> None:
    row: Json = {"meta": {"id": 7, "in": {"deep": [1, {"x": None}]}}, "a.b": "literal", "a": {"b": "nested"}}
    columns = {"id": "meta.id", "inputs.all.of": "meta.in", "inputs.ab": "a.b", "name": "a.b"}
    (found,) = records(written(tmp_path, "a.ndjson", [row]), "test-case", columns)
    assert found.id == "7"
    assert isinstance(found.fields, TestCase)
    assert found.fields.inputs == {"all": {"of": {"deep": [1, {"x": None}]}}, "ab": "literal"}


def test_rows_become_agent_runs(tmp_path: Path) -> None:
    text = 'q,a,calls,usd\nWhy?,Because.,"[{""tool"": ""look""}]",0.5\nHow?,,,\n'
    columns = {"inputs.q": "q", "outputs.output": "a", "toolCallsLog": "calls", "cost": "usd"}
    first, second = records(written(tmp_path, "a.csv", text), "agent-run", columns, agentId="me")
    assert isinstance(first.fields, AgentRun)
    assert isinstance(second.fields, AgentRun)
    assert (first.fields.outputs, first.fields.cost, [call.tool for call in first.fields.tool_calls_log or ()]) == (
        {"output": "Because."},
        0.5,
        ["look"],
    )
    assert (second.fields.outputs, second.fields.cost, second.fields.agent_id) == ({"output": ""}, None, "me")


def test_a_row_without_an_id_gets_one_of_what_it_says_and_equal_rows_are_numbered(tmp_path: Path) -> None:
    text = "Q,A\nx,1\ny,2\nx,1\nx,1\n"
    path = written(tmp_path, "a.csv", text)
    ids = [one.id for one in records(path, columns=QA)]
    assert ids == [one.id for one in records(path, columns=QA)]
    assert ids[0].startswith("test-case:")
    assert ids[2:] == [f"{ids[0]}:2", f"{ids[0]}:3"]
    assert len(set(ids)) == 4


@pytest.mark.parametrize(
    ("name", "content", "line", "said"),
    [
        ("a.csv", "Q,A\nx,1\n\ny\n", 4, "1 cells under 2 columns"),
        ("a.csv", 'Q,A\n"x\ny",1\nz,1,2\n', 4, "3 cells under 2 columns"),
        ("a.csv", 'Q,A\nx,"1\n', 2, "no table"),
        ("a.csv", 'Q,A\nx,"1" 2\n', 2, "no table"),
        ("a.csv", "Q,A,Q\n", 1, "duplicate column 'Q'"),
        ("a.csv", "Q,,A\n", 1, "a column has no name"),
        ("a.csv", "", 1, "is empty"),
        ("a.csv", b"Q,A\n\xff,1\n", None, "not UTF-8"),
        ("a.jsonl", b'{"Q": "x", "A": "1"}\n[1]\n', 2, "a row is a JSON object"),
        ("a.jsonl", b'{"Q": "x", "A": "1"}\n\n{"Q": \n', 3, "no JSON"),
        ("a.jsonl", b'{"Q": "x", "Q": "1"}\n', 1, "duplicate"),
        ("a.jsonl", b'{"Q": NaN, "A": "1"}\n', 1, "cannot be JSON"),
        ("a.json", '{"rows": [{"Q": "x", "A": "1"}]}', None, "a list of objects"),
        ("a.json", '[{"Q": "x", "A": "1"}, 2]', "row 2", "a row is a JSON object"),
        ("a.json", '[{"Q": "x", "A": "1"}, {"Q": NaN, "A": "1"}]', "row 2", "cannot be JSON"),
        ("a.json", '[{"Q": "x", "A": "1"}', 1, "no JSON"),
        ("a.parquet", b"PAR1 nonsense", None, "no Parquet"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line_with_its_reason(
    tmp_path: Path, name: str, content: str | bytes, line: int | str | None, said: str
) -> None:
    path = written(tmp_path, name, content)
    error = refused(path, columns=QA)
    assert error.where == (
        str(path) if line is None else f"{path}:{line}" if isinstance(line, int) else f"{path}: {line}"
    )
    assert said in error.reason


@pytest.mark.parametrize(
    ("columns", "content", "field", "said"),
    [
        ({"inputs": "Q"}, "Q\nwords\n", "fields.inputs", "no JSON object"),
        ({"inputs": "Q"}, "Q\n[1]\n", "fields.inputs", "an object"),
        ({**QA, "maxScore": "n"}, "Q,A,n\nx,1,many\n", "fields.maxScore", "number"),
        ({**QA, "id": "A"}, "Q,A\nx,no id!\n", "id", "pattern"),
        ({**QA, "id": "A"}, "Q,A\nx,1\ny,1\n", "id", "duplicate"),
        ({**QA, "status": "A"}, "Q,A\nx,gone\n", "fields.status", "active"),
    ],
)
def test_a_cell_that_does_not_fit_its_field_is_named(
    tmp_path: Path, columns: dict[str, str], content: str, field: str, said: str
) -> None:
    error = refused(written(tmp_path, "a.csv", content), columns=columns)
    assert error.field == field
    assert said in error.reason
    assert error.where.endswith(f"a.csv:{content.count(chr(10))}")


def test_a_field_that_is_missing_says_how_it_can_be_filled(tmp_path: Path) -> None:
    error = refused(written(tmp_path, "a.csv", "q\nx\n"), "agent-run", {"inputs.q": "q"})
    assert "--set agentId=VALUE" in typed(error)


def test_a_column_that_no_row_has_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", [{"q": 1}, {"q": 2, "r": None}])
    assert len(records(path, columns={"inputs.q": "q", "name": "r"})) == 2
    with pytest.raises(BadInputError, match="no column 'w'") as caught:
        records(path, columns={"inputs.q": "q", "name": "w"})
    assert caught.value.remedy == "Its columns are q, r."


@pytest.mark.parametrize(
    ("columns", "fixed"),
    [
        ({"nothing": "a"}, {}), ({"name.first": "a"}, {}), ({"inputs.": "a"}, {}), ({"inputs..x": "a"}, {}),
        ({"inputs": "a", "inputs.b": "b"}, {}), ({"inputs.a": "a", "inputs.a.b": "b"}, {}), ({"name": "a"}, {"name": "b"}),
    ],
)  # fmt: skip
def test_a_mapping_onto_what_is_no_field_or_twice_onto_one_is_refused(
    columns: dict[str, str], fixed: dict[str, str]
) -> None:
    with pytest.raises(BadInputError):
        RowMapping("test-case", columns, fixed)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (written := tmp_path / "a.doc").write_text("q,r\n")
    with pytest.raises(UnsupportedError, match="not a table"):
        read_rows(written)
    with pytest.raises(BadInputError, match="cannot be read"):
        list(read_rows(tmp_path / "none.csv"))


def test_parquet_rows_keep_their_types(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, object]] = [
        {"q": "Why?", "meta": {"n": 1}, "at": START, "tags": ["a"]},
        {"q": "How?", "meta": None, "at": None, "tags": []},
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    columns = {"inputs.q": "q", "inputs.n": "meta.n", "createdAt": "at", "tags": "tags"}
    first, second = cases(tmp_path / "a.parquet", columns)
    assert (first.inputs, first.tags, first.created_at) == ({"q": "Why?", "n": 1}, ("a",), START)
    assert (second.inputs, second.created_at) == ({"q": "How?"}, None)
    with pytest.raises(InvalidRecordError, match="id: duplicate id 'x'") as caught:
        parquet.write_table(pa.Table.from_pylist([{"id": "x"}, {"id": "x"}]), tmp_path / "b.parquet")
        records(tmp_path / "b.parquet")
    assert caught.value.where.endswith("b.parquet:2")


words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


@given(st.lists(st.tuples(words, words), min_size=1, max_size=5))
def test_whatever_a_cell_says_arrives_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([("q", "a"), *rows])
    path = written(tmp_path_factory.mktemp("rows"), "a.csv", out.getvalue())
    found = records(path, "agent-run", {"inputs.q": "q", "outputs.output": "a"}, agentId="me")
    said: list[tuple[JsonValue, JsonValue]] = []
    for one in found:
        assert isinstance(one.fields, AgentRun)
        said.append((one.fields.inputs["q"], one.fields.outputs["output"]))
    assert said == [row for row in rows if any(cell.strip() for cell in row)], "a line without text is no row"
