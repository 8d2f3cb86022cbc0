"""Records as they arrive and as they go out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields, TestCase
from minions_evals_mcp.domain.neighbours import Task
from minions_evals_mcp.domain.records import TYPES, Record, fields_from_json, record_from_wire, title_of, wire_fields
from minions_evals_mcp.errors import InvalidRecordError
from tests.domain.every_type import AT, BARE, FULL, recorded

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
LEAST: dict[str, JsonValue] = {"name": "Refund"}


def arriving(fields: JsonValue = None, **envelope: JsonValue) -> Record[Fields]:
    wire: JsonValue = {"type": "test-case", "fields": LEAST if fields is None else fields, **envelope}
    return record_from_wire(wire, new_id="new", now=NOW)


def refusal(fields: JsonValue = None, **envelope: JsonValue) -> InvalidRecordError:
    with pytest.raises(InvalidRecordError) as refused:
        arriving(fields, **envelope)
    return refused.value


@pytest.mark.parametrize("fields", [*FULL, *BARE], ids=lambda one: one.slug)
def test_a_record_of_every_type_comes_back_as_it_went_out(fields: Fields) -> None:
    record = recorded(fields)
    back = record_from_wire(record.wire(), new_id="other", now=NOW)
    assert back == record
    assert back.content_digest() == record.content_digest()
    assert type(back.fields) is type(fields)


def test_id_title_and_times_are_filled_in_where_none_are_given() -> None:
    made = arriving()
    assert (made.id, made.type, made.title, made.status) == ("new", "test-case", "Refund", "active")
    assert (made.created_at, made.updated_at, made.created_by, made.deleted_at) == (NOW, NOW, None, None)
    assert made.tags == ()
    wire = made.wire()
    assert list(wire) == ["id", "type", "title", "fields", "tags", "status", "createdAt", "updatedAt"]


def test_what_is_given_is_kept() -> None:
    made = arriving(
        id="t/1", title="Mine", tags=["a", "b"], status="archived", createdAt="2026-03-01T13:30:15.250+01:00",
        updatedAt="2026-04-01T00:00:00Z", createdBy="ada", deletedAt="2026-05-01T00:00:00Z",
    )  # fmt: skip
    assert (made.id, made.title, made.tags, made.status, made.created_by) == (
        "t/1",
        "Mine",
        ("a", "b"),
        "archived",
        "ada",
    )
    assert made.created_at == AT
    assert made.wire()["createdAt"] == "2026-03-01T12:30:15.250Z"
    assert made.wire()["deletedAt"] == "2026-05-01T00:00:00Z"


def test_a_record_that_was_created_was_last_changed_then_unless_it_says_more() -> None:
    assert arriving(createdAt="2026-03-01T12:30:15.250Z").updated_at == AT


@pytest.mark.parametrize("key", ["expectations", "nam", "passRuel", "notes"])
def test_an_unknown_key_in_the_fields_is_refused_with_its_name(key: str) -> None:
    refused = refusal({"name": "x", key: 1}, id="t1")
    assert refused.field == f"fields.{key}"
    assert str(refused).startswith(f"test-case t1: fields.{key}: unknown key; ")


def test_an_unknown_key_in_the_envelope_is_refused_with_its_name() -> None:
    assert str(refusal(priority="high")).startswith("test-case (no id): priority: unknown key; known are createdAt, ")


def test_a_missing_field_is_named() -> None:
    assert str(refusal({}, id="t1")) == "test-case t1: fields.name: is missing"
    with pytest.raises(InvalidRecordError, match="fields: is missing"):
        record_from_wire({"type": "test-case"}, new_id="n", now=NOW)
    with pytest.raises(InvalidRecordError, match=r"record \(no id\): type: is missing"):
        record_from_wire({"fields": {}}, new_id="n", now=NOW)


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"name": 5}, "fields.name", "should be a valid string, not 5"),
        ({"name": "x", "maxScore": "5"}, "fields.maxScore", "valid number, not '5'"),
        ({"name": "x", "maxScore": True}, "fields.maxScore", "valid number, not True"),
        ({"name": "x", "timeoutMs": 1.5}, "fields.timeoutMs", "integer"),
        ({"name": "x", "tags": "one"}, "fields.tags", "not 'one'"),
        ({"name": "x", "tags": [1]}, "fields.tags.0", "not 1"),
        ({"name": "x", "status": "done"}, "fields.status", "'active', 'draft' or 'deprecated', not 'done'"),
        ({"name": "x", "assertions": [{"type": "contains", "wait": 1}]}, "fields.assertions.0.wait", "unknown key"),
        ({"name": "x", "agentId": "a b"}, "fields.agentId", "not 'a b'"),
        ({"name": "x", "createdAt": "soon"}, "fields.createdAt", "not 'soon'"),
        ("not a mapping", "fields", "not 'not a mapping'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_field_and_what_it_was(
    fields: JsonValue, place: str, words: str
) -> None:
    refused = refusal(fields)
    assert refused.field == place
    assert words in str(refused)


def test_every_fault_is_named_and_a_long_value_is_cut() -> None:
    refused = refusal({"name": ["x" * 500], "status": "?"})
    assert "(also fields.status: " in str(refused)
    assert len(str(refused)) < 300


def test_an_unknown_key_is_refused_with_the_one_that_may_have_been_meant_wherever_it_stands() -> None:
    assert "fields.nam: unknown key; did you mean 'name'?" in str(refusal({"nam": "x"}))
    nested = refusal({"name": "x", "assertions": [{"type": "contains", "treshold": 1}]})
    assert "fields.assertions.0.treshold: unknown key; did you mean 'threshold'?" in str(nested)
    assert "unknown key; nearest: " in str(refusal({"name": "x", "zzz": 1}))


@pytest.mark.parametrize("wire", [None, [], "text", 5])
def test_what_is_no_mapping_is_no_record(wire: JsonValue) -> None:
    with pytest.raises(InvalidRecordError, match="should be an object"):
        record_from_wire(wire, new_id="n", now=NOW)


def test_an_unknown_type_is_refused_with_the_nearest_known_ones() -> None:
    with pytest.raises(
        InvalidRecordError, match="criterion t1: type: unknown type 'criterion'; nearest: rubric-criterion, "
    ) as refused:
        record_from_wire({"id": "t1", "type": "criterion", "fields": {}}, new_id="n", now=NOW)
    assert refused.value.field == "type"


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_know_is_refused_where_it_stands(number: float) -> None:
    assert refusal({"name": "x", "inputs": {"rates": [1.0, number]}}, id="t1").field == "fields.inputs.rates.1"
    assert refusal({"name": "x", "threshold": number}).field == "fields.threshold"


def test_text_that_is_no_unicode_and_nesting_without_end_are_refused_not_a_crash() -> None:
    assert "Invalid JSON" in str(refusal({"name": "\ud800"}))
    for levels in (250, 5000):
        deep: list[JsonValue] = []
        for _ in range(levels):
            deep = [deep]
        assert "is nested too deeply" in str(refusal({"name": "x", "inputs": {"deep": deep}}))
    assert "number out of range" in str(refusal({"name": "x", "inputs": {"big": 10**5000}}))


def test_a_null_in_a_users_own_mapping_is_kept_and_an_absent_field_is_left_out() -> None:
    made = arriving({"name": "x", "inputs": {"reason": None, "inner": {"left": None}, "list": [None]}, "agentId": None})
    wire = wire_fields(made.fields)
    assert wire["inputs"] == {"reason": None, "inner": {"left": None}, "list": [None]}
    assert "agentId" not in wire
    assert record_from_wire(made.wire(), new_id="n", now=NOW) == made


def test_the_content_digest_ignores_who_and_when_and_the_order_of_keys() -> None:
    one = arriving({"name": "x", "inputs": {"a": 1, "b": {"c": 2, "d": 3}}}, id="a", createdBy="ada")
    other = arriving({"inputs": {"b": {"d": 3, "c": 2}, "a": 1}, "name": "x"}, id="b", createdAt="2020-01-01T00:00:00Z")
    assert one.content_digest() == other.content_digest()


@pytest.mark.parametrize(
    "changed",
    [
        {"fields": {"name": "y"}},
        {"title": "Other"},
        {"tags": ["t"]},
        {"status": "archived"},
        {"fields": {"name": "x", "inputs": {"a": None}}},
    ],
)
def test_the_content_digest_changes_with_what_the_record_says(changed: dict[str, JsonValue]) -> None:
    wire: dict[str, JsonValue] = {"type": "test-case", "title": "T", "fields": {"name": "x"}}
    base = record_from_wire(wire, new_id="i", now=NOW).content_digest()
    assert record_from_wire({**wire, **changed}, new_id="i", now=NOW).content_digest() != base


@given(st.dictionaries(st.text(max_size=4), st.none() | st.integers(-5, 5) | st.text(max_size=4), max_size=4))
def test_any_inputs_come_back_as_they_were_given(inputs: dict[str, JsonValue]) -> None:
    made = arriving({"name": "x", "inputs": inputs})
    assert isinstance(made.fields, TestCase)
    assert made.fields.inputs == inputs
    assert record_from_wire(made.wire(), new_id="n", now=NOW) == made


def test_a_record_is_called_by_its_title_else_its_name_else_its_type_and_id() -> None:
    assert title_of(Task(title="Look"), "t1") == "Look"
    assert title_of(TestCase(name="Refund"), "t1") == "Refund"
    judgment = next(one for one in FULL if one.slug == "eval-judgment")
    assert title_of(judgment, "j1") == "eval-judgment j1"


def test_touching_a_record_changes_its_fields_and_its_time_alone() -> None:
    record = recorded(TestCase(name="old"))
    later = AT + timedelta(days=1)
    touched = record.touched(TestCase(name="new"), later)
    assert (touched.fields, touched.updated_at) == (TestCase(name="new"), later)
    assert (touched.id, touched.title, touched.created_at, touched.tags) == (
        record.id, record.title, record.created_at, record.tags,
    )  # fmt: skip


def test_fields_alone_are_refused_under_the_name_that_they_are_given_or_their_type() -> None:
    with pytest.raises(InvalidRecordError, match=r"^rubric: fields\.name: is missing"):
        fields_from_json(TYPES["rubric"], '{"passingThreshold": 1}')
    with pytest.raises(InvalidRecordError, match=r"^rubric r1: fields: Invalid JSON"):
        fields_from_json(TYPES["rubric"], "{", record="rubric r1")
