"""Suite files: taken whole or refused with file, line, field and reason."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.records.save_records import Arrival
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.parsing import parse_json
from minions_evals_mcp.interop.suite import read_suite

NOW = datetime(2026, 11, 21, tzinfo=UTC)
CASE: Json = {"id": "c", "type": "test-case", "fields": {"name": "c"}}
BAD_CASE: Json = {"id": "d", "type": "test-case", "fields": {"name": "d", "inptus": {}}}


def read(path: Path, content: str | bytes) -> tuple[list[Arrival], list[Relation]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_suite(path, new_id=lambda: "made", now=NOW)


def records(path: Path, content: str | bytes) -> list[Record[Fields]]:
    return [one.record for one in read(path, content)[0]]


def refused(path: Path, content: str | bytes) -> str:
    with pytest.raises(BadInputError) as found:
        read(path, content)
    return str(found.value)


FORMS: dict[str, str] = {
    "yaml": "minions:\n  - {id: c, type: test-case, fields: {name: c}}\n",
    "yml": "- id: c\n  type: test-case\n  fields: {name: c}\n",
    "json": json.dumps({"minions": [CASE]}, indent="\t"),
    "JSON": json.dumps([CASE]),
    "jsonl": "\n" + json.dumps(CASE) + "\n\n",
    "ndjson": json.dumps(CASE) + "\r\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_yaml_json_and_json_lines_bring_the_same_record(tmp_path: Path, form: str) -> None:
    (found,) = records(tmp_path / f"s.{form}", FORMS[form])
    assert (found.id, found.type, found.title, found.created_at) == ("c", "test-case", "c", NOW)


@pytest.mark.parametrize("form", FORMS)
def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path, form: str) -> None:
    assert len(records(tmp_path / f"s.{form}", b"\xef\xbb\xbf" + FORMS[form].encode())) == 1


def test_a_record_without_an_id_is_given_one(tmp_path: Path) -> None:
    (found,) = records(tmp_path / "s.json", json.dumps([{"type": "test-case", "fields": {"name": "n"}}]))
    assert found.id == "made"


def test_bare_dates_and_anchors_mean_what_they_say(tmp_path: Path) -> None:
    text = """
minions:
  - id: a
    type: test-case
    createdAt: 2026-01-31T10:00:00Z
    fields: {name: a, inputs: &asked {day: 2026-01-31, "at": 2026-01-31T10:00:00Z}}
  - {id: b, type: test-case, fields: {name: b, inputs: *asked}}
  - {id: c, type: test-case, fields: {name: c, inputs: {<<: *asked, more: 1}}}
"""
    a, b, c = (one.wire() for one in records(tmp_path / "s.yaml", text))
    asked = {"day": "2026-01-31", "at": "2026-01-31T10:00:00Z"}
    assert a["createdAt"] == "2026-01-31T10:00:00Z"
    assert [inputs(one) for one in (a, b)] == [asked, asked]
    assert inputs(c) == {**asked, "more": 1}


def inputs(wire: dict[str, JsonValue]) -> JsonValue:
    fields = wire["fields"]
    assert isinstance(fields, dict)
    return fields["inputs"]


def test_a_line_separator_inside_a_string_splits_no_record(tmp_path: Path) -> None:
    said = "one\u2028two\x85three\x0cfour"
    line = json.dumps({**CASE, "title": said}, ensure_ascii=False)
    (found,) = records(tmp_path / "s.jsonl", line + "\n")
    assert found.title == said


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("s.yaml", "# a comment\nminions:\n  - {id: c, type: test-case, fields: {name: c}}\n\n  - id: d\n"
                   "    type: test-case\n    fields: {name: d, inptus: {}}\n", 5),
        ("s.json", json.dumps({"relations": [], "minions": [CASE, BAD_CASE]}, indent=1), 11),
        ("t.json", json.dumps({"minions": [{**CASE, "title": "\U0001f600"}, BAD_CASE]}, indent="\t"), 11),
        ("l.json", json.dumps([CASE, BAD_CASE], indent=1), 9),
        ("s.jsonl", "\n" + json.dumps(CASE) + "\n\n" + json.dumps(BAD_CASE) + "\n", 4),
    ],
)  # fmt: skip
def test_a_bad_record_is_refused_with_file_line_field_and_reason(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    said = refused(tmp_path / name, text)
    assert said == f"{tmp_path / name}:{line}: test-case d: fields.inptus: unknown key; did you mean 'inputs'?"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.json", '{"minions": [}', ":1: no JSON"),
        ("s.json", '{"minions":\n\n [}', ":3: no JSON"),
        ("s.json", "", ":1: no JSON"),
        ("s.json", '{"minions": [], "minions": []}', "duplicate key 'minions'"),
        ("s.json", '{"minions": {"a": 1}}', "a suite is"),
        ("s.json", '"text"', "a suite is"),
        ("s.json", "[" * 100_000 + "]" * 100_000, "no JSON: nested too deeply"),
        ("s.json", '{"minions": [' + "[" * 230 + "]" * 230 + "]}", "recursion limit"),
        ("s.json", '{"minions": [], "suite": 1}', "suite: unknown key; known are records, relations"),
        ("s.jsonl", json.dumps(CASE) + "\n{bad\n", ":2: no JSON"),
        ("s.jsonl", "[" * 100_000, ":1: no JSON: nested too deeply"),
        ("s.jsonl", "7\n", ":1:"),
        ("s.yaml", "minions: [a\nb: c", ":2: no YAML"),
        ("s.yaml", "", "a suite is"),
        ("s.yaml", "minions:\n- {id: c,\n   id: d}", ":3: no YAML: duplicate key 'id'"),
        ("s.yaml", "minions: []\nsuite: 1", "suite: unknown key"),
        ("s.yaml", "minions: [{fields: {inputs: {on: 1}}}]", ":1: no YAML: the key on means true in YAML: quote it"),
        ("s.yaml", "minions: []\n---\nminions: []", "no YAML: "),
        ("s.yaml", "minions: [*nobody]", ":1: no YAML: found undefined alias"),
        ("s.yaml", "minions:\n- &a [*a]", ":2: no YAML: the alias *a refers to itself"),
        ("s.yaml", "minions: [!!python/object:os.system {}]", "no YAML: could not determine a constructor"),
        ("s.yaml", "minions: [2026-13-31]", "no YAML: month must be in 1..12"),
        ("s.yaml", "minions:\n- a\x07", ":2: no YAML: control characters"),
        ("s.yaml", "minions: [{type: test-case, fields: {name: n, inputs: {x: .nan}}}]", "inputs.x"),
        ("s.json", '{"minions": [{"type": "test-case", "fields": {"name": "n", "inputs": {"x": 1e999}}}]}', "inputs.x"),
        ("s.yaml", "[" * 500 + "]" * 500, "no YAML: nested more than 100 deep"),
        ("s.yaml", "[" * 100_000, " nest"),  # PyYAML 6.0.4 refuses it itself
        ("s.yaml", "minions: []\nrelations: [{sourceId: a, targetId: b}]", "relations.0.type"),
    ],
)  # fmt: skip
def test_what_is_no_suite_is_refused_with_the_reason(tmp_path: Path, name: str, text: str, said: str) -> None:
    found = refused(tmp_path / name, text)
    assert found.startswith(str(tmp_path / name))
    assert said in found


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    assert "is not UTF-8" in refused(tmp_path / "s.yaml", b"minions: [\xff\xfe]")


def test_few_lines_of_aliases_that_stand_for_gigabytes_are_refused_unbuilt(tmp_path: Path) -> None:
    lists = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lists += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    long = f"a: &a {'x' * 100_000}\nminions: [{', '.join(['*a'] * 1000)}]"
    for bomb in ("\n".join(lists), long):
        assert "aliases stand for more than 10000000 characters" in refused(tmp_path / "s.yaml", bomb)


@pytest.mark.parametrize(
    ("kind", "said"),
    [("groups", "is derived from the records' ids: leave it out"), ("likes", "is unknown; only follows can be given")],
)
def test_a_relation_other_than_follows_is_refused_by_name(tmp_path: Path, kind: str, said: str) -> None:
    text = f"minions: []\nrelations:\n- {{sourceId: a, targetId: b, type: follows}}\n- {{sourceId: a, targetId: b, type: {kind}}}\n"
    found = refused(tmp_path / "s.yaml", text)
    assert found == f"{tmp_path / 's.yaml'}:4: relations.type: the relation {kind!r} {said}"


def test_a_refusal_keeps_its_parts_for_programs(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecordError) as found:
        read(tmp_path / "s.jsonl", json.dumps(BAD_CASE))
    error = found.value
    assert (error.where, error.record, error.field) == (f"{tmp_path / 's.jsonl'}:1", "test-case d", "fields.inptus")


@pytest.mark.parametrize("text", ['{"q": "\\ud83d"}', '{"\\uDC00": 1}', '["a", {"q": ["\\ud83d x"]}]'])
def test_half_a_character_is_refused_in_a_suite_and_mended_in_a_log(text: str) -> None:
    """A writer of logs that cuts texts at a length leaves halves; a suite's author would lose what was meant."""
    with pytest.raises(InvalidRecordError, match="half of a surrogate pair"):
        parse_json(text, "s.json")
    read = parse_json(text, "request", is_log=True)
    assert "\ufffd" in json.dumps(read, ensure_ascii=False)
    json.dumps(read, ensure_ascii=False).encode()
    assert parse_json('{"q": "\\ud83d\\ude00"}', "s.json") == {"q": "\U0001f600"}
