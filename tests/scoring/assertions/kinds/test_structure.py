"""Equality, JSON in and around prose, and the schema that it fits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked, Unmet
from minions_evals_mcp.scoring.lenient import json_objects
from tests.hang import HANG_S


def outcome(kind: str, value: JsonValue, output: str) -> Checked:
    """The verdict of a vetted assertion that can be checked."""
    assertion = Assertion(type=kind, value=value)
    vet(assertion)
    result = check(assertion, Subject(output))
    assert isinstance(result, Checked)
    return result


@pytest.mark.parametrize(
    ("value", "output", "passed"),
    [
        ("Paris", "Paris", True),
        ("Paris", "Paris ", False),
        ("", "", True),
        (5, "5", True),
        (True, "true", True),
        ({"a": 1, "b": [2]}, '{"b": [2.0], "a": 1}', True),
        ({"a": 1}, '{"a": true}', False),
        ({"a": 1}, '{"a": 1, "b": 2}', False),
        ({"a": 1}, "{a: 1}", False),
        ([1, 2], "[2, 1]", False),
        ([1, "1"], '[1, "1"]', True),
        (None, "null", True),
        (None, "", False),
    ],
)
def test_equals_compares_texts_as_texts_and_structures_as_json(value: JsonValue, output: str, passed: bool) -> None:
    assert outcome("equals", value, output).passed is passed
    assert outcome("not-equals", value, output).passed is not passed


CONFIDENT: dict[str, JsonValue] = {"answer": "Paris", "confidence": 0.9}


@pytest.mark.parametrize(
    ("kind", "value", "record", "passed"),
    [
        ("is-json", None, CONFIDENT, True),
        ("not-is-json", None, CONFIDENT, False),
        ("is-json", {"required": ["confidence"]}, CONFIDENT, True),
        ("is-json", {"required": ["sources"]}, CONFIDENT, False),
        ("contains-json", {"required": ["confidence"]}, CONFIDENT, True),
        ("contains-json", {"required": ["a"]}, {"reply": 'So: {"a": 1}', "n": 1}, True),
        ("equals", {**CONFIDENT}, CONFIDENT, True),
        ("equals", "Paris", CONFIDENT, True),
        ("is-json", None, {"reply": "Paris"}, True),
        ("is-json", None, {"text": "Paris", "content": "Rome"}, True),
        ("is-json", None, {"text": "Paris", "usage": {"inputTokens": 3}}, False),
        ("is-json", None, {"output": "Paris", "costUsd": 0.1}, False),
        ("is-json", None, {"output": "Paris"}, False),
        ("is-json", None, {"output": {"a": 1}}, True),
    ],
)
def test_a_check_of_form_looks_at_all_that_a_program_printed_unless_it_only_wraps_a_text(
    kind: str, value: JsonValue, record: dict[str, JsonValue], passed: bool
) -> None:
    result = check(Assertion(type=kind, value=value), Work({}, None, Observed(output=record)).subject)
    assert isinstance(result, Checked)
    assert result.passed is passed


def test_of_a_recorded_run_and_of_a_wrapped_text_the_text_is_looked_at_and_said() -> None:
    recorded = check(
        Assertion(type="is-json"), Work({}, None, Observed(output={"reply": "no"}, agent_run_id="r")).subject
    )
    wrapped = check(Assertion(type="is-json"), Work({}, None, Observed(output={"text": "no"})).subject)
    assert isinstance(recorded, Checked)
    assert not recorded.passed
    assert "under the key 'text'" in wrapped.reason


def test_equals_without_a_value_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="is missing"):
        vet(Assertion(type="equals"))


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ('{"a": 1}', True),
        (" [1, 2]\n", True),
        ("42", True),
        ('"text"', True),
        ("null", True),
        ("9" * 5_000, True),
        ("", False),
        ("text", False),
        ('```json\n{"a": 1}\n```', False),
        ("{'a': 1}", False),
        ('{"a": 1,}', False),
        ("NaN", False),
        ("[1, -Infinity]", False),
        ("\ufeff{}", False),
        ('{"a": 1} trailing', False),
        ('"tab\there"', False),
    ],
)
def test_is_json_reads_what_json_parse_reads(output: str, passed: bool) -> None:
    assert outcome("is-json", None, output).passed is passed
    assert outcome("not-is-json", "", output).passed is not passed


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ('Here you are: {"a": 1}. Enjoy!', True),
        ('```json\n{"a": {"b": [1]}}\n```', True),
        ('{"a": "a brace } in a text"}', True),
        ('{"a": NaN}', True),
        ('{"a": ' + "9" * 5_000 + "}", True),
        ("{'a': 1, b: [1, 2,],}", True),
        ('{\n  "a": "http://x", // why\n  "b": 2\n}', True),
        ('{"cut": {"off": 1', True),
        ('text {oops} then {"a": 1}', True),
        ("{}", True),
        ("no braces", False),
        ("[1, 2]", False),
        ("Hello {name}", False),
        (r"\frac{1}{2}", False),
        ("{a: *alias}", False),
        ("{? [a] : b}", False),
        ("{" + "[" * 200, False),
        ("{" * 105 + "a: 1" + "}" * 105, True),
        ("", False),
    ],
)
def test_contains_json_finds_an_object_in_prose(output: str, passed: bool) -> None:
    assert outcome("contains-json", None, output).passed is passed
    assert outcome("not-contains-json", None, output).passed is not passed


def test_contains_json_takes_the_first_object_that_fits() -> None:
    schema: JsonValue = {"required": ["b"]}
    assert outcome("contains-json", schema, '{"a": 1} and {"b": 2}').passed
    missing = outcome("contains-json", schema, '{"a": 1}')
    assert (missing.passed, missing.reason) == (False, "JSON does not match the schema: 'b' is a required property")
    assert outcome("not-contains-json", schema, '{"a": 1}').passed


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("{a: yes, b: 010, c: 0x1F, d: 0o17, e: 1.5, f: ~, g: true, 1: x, h: 2026-01-01, i: '5', j: .5e1}", {
            "properties": {
                "a": {"const": "yes"}, "b": {"const": 10}, "c": {"const": 31}, "d": {"const": 15}, "e": {"const": 1.5},
                "f": {"type": "null"}, "g": {"const": True}, "1": {"const": "x"}, "h": {"type": "string"},
                "i": {"const": "5"}, "j": {"const": 5},
            },
            "minProperties": 11,
        }),
    ],
)  # fmt: skip
def test_lenient_values_are_yamls_core_values(text: str, schema: JsonValue) -> None:
    assert outcome("contains-json", schema, text).reason == "JSON matches the schema"


@pytest.mark.parametrize("output", ["{" * 3_000, "{ " * 100_000, "{x" * 60_000])
def test_text_too_tangled_to_read_is_unchecked_soon(output: str) -> None:
    result = check(Assertion(type="contains-json"), Subject(output))
    assert isinstance(result, Unchecked)
    assert "100,000" in result.reason
    assert [type(found) for found in json_objects(output)] == [Unmet]


@pytest.mark.parametrize("kind", ["is-json", "contains-json", "equals"])
def test_nesting_beyond_what_can_be_read_is_unchecked(kind: str) -> None:
    result = check(Assertion(type=kind, value={"a": 1}), Subject('{"a":' * 100_000))
    assert result == Unchecked(kind, "the output or the value nests too deeply to be read")


FITS: list[tuple[JsonValue, str, bool]] = [
    ({"type": "object", "required": ["a"]}, '{"a": 1}', True),
    ({"type": "object", "required": ["a"]}, "{}", False),
    ("type: array\nitems: {type: integer}\nmaxItems: 2", "[1, 2.0]", True),
    ('{"type": "array"}', "{}", False),
    ({"properties": {"a": {"pattern": "^x+$"}}}, '{"a": "xx"}', True),
    ({"properties": {"a": {"pattern": "^x+$"}}}, '{"a": "xy"}', False),
    ({"pattern": "x"}, "5", True),
    ({"patternProperties": {"^n_": {"type": "number"}}, "additionalProperties": False}, '{"n_a": 1}', True),
    ({"patternProperties": {"^n_": {"type": "number"}}, "additionalProperties": False}, '{"n_a": "1"}', False),
    ({"patternProperties": {"^n_": {"type": "number"}}, "additionalProperties": False}, '{"b": 1}', False),
    ({"patternProperties": {"^n_": {"type": "number"}}}, "[]", True),
    ({"patternProperties": {"^n_": {"type": "number"}}}, '{"m_a": "x"}', True),
    ({"properties": {"a": True}, "additionalProperties": {"type": "string"}}, '{"a": 1, "b": "x"}', True),
    ({"properties": {"a": True}, "additionalProperties": {"type": "string"}}, '{"a": 1, "b": 2}', False),
    ({"additionalProperties": True}, '{"a": 1}', True),
    ({"additionalProperties": False}, "[]", True),
    ({"items": [{"type": "string"}], "additionalItems": False}, '["a", 1]', False),
    ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, '["a", 1]', True),
    ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, '["a", "b"]', False),
    ({"uniqueItems": True}, "[1, true, 1.5]", True),
    ({"uniqueItems": True}, '[{"a": [1]}, {"a": [1.0]}]', False),
    ({"uniqueItems": False}, "[1, 1]", True),
    ({"type": "string", "nullable": True}, "null", True),
    ({"type": "string"}, "null", False),
    ({"$ref": "#/definitions/n", "definitions": {"n": {"type": "integer"}}}, "1", True),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}}, '"1"', False),
    ({"$ref": "#/anyOf/0", "anyOf": [{"type": "integer"}]}, "1", True),
    ({"$ref": "#/definitions/all", "definitions": {"all": True}}, "1", True),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#"}}}, '{"a": {}}', True),
    ({"$id": "x", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, '{"a": {}}', False),
    ({"dependencies": {"a": ["b"]}}, '{"a": 1}', False),
    ({"dependentRequired": {"a": ["b"]}}, '{"a": 1}', False),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, '{"a": 1}', False),
    ({"contains": {"const": 1}, "minContains": 2}, "[1]", False),
    ({"properties": {"when": {"format": "date-time"}}}, '{"when": "yesterday"}', False),
    ({}, "5", True),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "output", "passed"), FITS)
def test_json_fits_its_schema_or_does_not(schema: JsonValue, output: str, passed: bool) -> None:
    assert outcome("is-json", schema, output).passed is passed
    assert outcome("not-is-json", schema, output).passed is not passed


def test_text_that_is_no_json_passes_not_is_json_whatever_the_schema() -> None:
    assert outcome("not-is-json", {"required": ["a"]}, "text").passed


def test_the_reason_names_the_place_in_the_output() -> None:
    schema: JsonValue = {"properties": {"a": {"items": {"type": "string"}}}}
    assert (
        outcome("is-json", schema, '{"a": ["x", 5]}').reason
        == "JSON does not match the schema: a/1: 5 is not of type 'string'"
    )


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (True, "must be a JSON Schema"),
        (["a"], "must be a JSON Schema"),
        (5, "must be a JSON Schema"),
        ("just text", "must be a mapping"),
        ("{a: [", "cannot be read"),
        ("# nothing", "must be a mapping"),
        ("a: &x 1\nb: *x", "aliases are not read"),
        ({"type": "strnig"}, "'strnig' is not valid"),
        ({"requried": ["a"]}, "the keyword 'requried' is not supported"),
        ({"properties": {"a": {"oneOf": [{"unevaluatedItems": False}]}}}, "the keyword 'unevaluatedItems'"),
        ({"format": "e-mail"}, "unknown format 'e-mail'"),
        ({"pattern": "(?=a)"}, "not supported here"),
        ({"patternProperties": {"(a": {}}}, "missing )"),
        ({"$ref": "http://example.com/schema"}, "leads to no schema"),
        ({"$ref": "#/definitions/none"}, "leads to no schema"),
        ({"$ref": "#/default", "default": {"pattern": "(?=a)"}}, "leads to no schema"),
        ({"$ref": "#/title/x", "title": "text"}, "leads to no schema"),
        ({"$ref": "#/anyOf/7", "anyOf": [True]}, "leads to no schema"),
        ({"$ref": 5}, "leads to no schema"),
        ({"properties": {"a": {"$id": "b"}}}, "an $id below the root"),
    ],
)
def test_a_schema_that_would_be_ignored_in_part_is_refused(schema: JsonValue, reason: str) -> None:
    with pytest.raises(InvalidRecordError) as refusal:
        vet(Assertion(type="is-json", value=schema))
    assert reason in refusal.value.reason


def test_a_schema_that_refers_to_itself_for_ever_is_unchecked() -> None:
    result = check(Assertion(type="is-json", value={"$ref": "#"}), Subject("1"))
    assert isinstance(result, Unchecked)


FORMATS: list[tuple[str, list[JsonValue], list[JsonValue]]] = [
    ("date", ["2024-02-29", 5], ["2023-02-29", "24-1-1", "20240229"]),
    ("time", ["10:00:00Z", "23:59:60+02:00", 5], ["10:00:00", "25:00:00Z"]),
    ("iso-time", ["10:00:00"], ["10:00"]),
    ("date-time", ["2024-02-29T10:00:00.5Z", "2024-02-29 10:00:00+01", 5], ["2024-02-29T10:00:00", "2024-02-29", ""]),
    ("iso-date-time", ["2024-02-29T10:00:00"], ["2024-02-30T10:00:00"]),
    ("duration", ["P1Y2M", "PT5M", "P3W"], ["1 day", "P1S"]),
    ("email", ["a.b+c@example.co", 5], ["a@b", "a b@example.com", "@example.com"]),
    ("hostname", ["example.com", "localhost"], ["-a.com", "a_b"]),
    ("ipv4", ["192.168.0.1"], ["256.1.1.1", "1.2.3"]),
    ("ipv6", ["::1", 5], ["1.2.3.4", "fe80::1%eth0"]),
    ("uri", ["https://a.b/c?d=%20#e", "urn:a:b"], ["/relative", "http://a b"]),
    ("uri-reference", ["/a?b", ""], ["a b"]),
    ("url", ["https://example.com/a"], ["mailto:a@b.c"]),
    ("uuid", ["urn:uuid:123E4567-e89b-12d3-a456-426614174000"], ["123"]),
    ("json-pointer", ["/a/~0b", ""], ["a", "/~2"]),
    ("relative-json-pointer", ["1/a", "0#"], ["/a"]),
    ("regex", ["^a+$", "(?=a)", 5], ["(a", "[]"]),
    ("byte", ["YWI=", ""], ["a"]),
    ("int32", [1, 2.0, "text", True], [2**31, 1.5]),
    ("int64", [2**63 - 1], [2**63]),
    ("password", ["x"], []),
]


@pytest.mark.parametrize(("name", "good", "bad"), FORMATS)
def test_a_format_is_checked(name: str, good: list[JsonValue], bad: list[JsonValue]) -> None:
    for value in good:
        assert fits(name, value), value
    for value in bad:
        assert not fits(name, value), value


def fits(name: str, value: JsonValue) -> bool:
    """Whether a JSON object with that value fits a schema that asks for the format."""
    return outcome("is-json", {"properties": {"v": {"format": name}}}, json.dumps({"v": value})).passed


@given(st.text(alphabet="{}[]:,\"'ab1 \n/-#&*!|>%@`\\", max_size=40))
def test_any_text_is_searched_for_json(text: str) -> None:
    assert check(Assertion(type="contains-json"), Subject(text)).type == "contains-json"


def test_heavy_libraries_are_imported_only_when_a_type_needs_them() -> None:
    code = (
        "import sys, minions_evals_mcp.scoring.assertions; print([one for one in sys.argv[1:] if one in sys.modules])"
    )
    heavy = ["jsonschema", "rapidfuzz", "regex", "yaml"]
    done = subprocess.run(
        [sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True, timeout=HANG_S
    )
    assert done.stdout == "[]\n"
