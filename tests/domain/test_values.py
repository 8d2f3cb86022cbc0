"""Ids, moments, digests, the text of an output, and what a blank text is."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.digests import canonical, combined, digest, text_digest
from minions_evals_mcp.domain.outputs import output_text, value_text
from minions_evals_mcp.domain.values import (
    Count,
    Id,
    Text,
    Timestamp,
    Unit,
    Value,
    from_millis,
    is_blank,
    iso,
    to_millis,
    utc,
)
from tests.hang import HANG_S

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


class Sample(Value):
    """One of each kind."""

    an_id: Id = "a"
    some_text: Text = "t"
    a_share: Unit = 0.0
    a_count: Count = 0
    ran_at: Timestamp | None = None


@pytest.mark.parametrize("ident", ["a", "A-Z_0.", "prompt/refund@3:1", "x" * 128])
def test_an_id_may_be_1_to_128_characters_of_the_contracts_alphabet(ident: str) -> None:
    assert Sample(an_id=ident).an_id == ident


@pytest.mark.parametrize("ident", ["", "x" * 129, "a b", "ä", "a\n", "\na", "a#b", "a\u200b"])
def test_any_other_id_is_refused(ident: str) -> None:
    with pytest.raises(ValidationError):
        Sample(an_id=ident)


def test_a_text_must_hold_something_and_a_share_lies_in_0_to_1() -> None:
    assert Sample(some_text=" x ", a_share=1).some_text == " x "
    for wrong in ({"some_text": " \n"}, {"a_share": 1.01}, {"a_share": -0.01}, {"a_count": -1}):
        with pytest.raises(ValidationError):
            Sample.model_validate(wrong)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_none_are_refused(number: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        Sample(a_share=number)


def test_a_value_is_frozen_closed_strict_and_camel_case_on_the_wire() -> None:
    sample = Sample(an_id="a")
    with pytest.raises(ValidationError, match="frozen"):
        sample.an_id = "b"  # pyright: ignore[reportAttributeAccessIssue]  what is tested
    with pytest.raises(ValidationError, match="Extra inputs"):
        Sample.model_validate({"anId": "a", "other": 1})
    with pytest.raises(ValidationError):
        Sample.model_validate({"aCount": "3"})
    assert set(sample.model_dump()) == {"anId", "someText", "aShare", "aCount", "ranAt"}
    assert Sample.model_validate({"anId": "b"}) == Sample.model_validate({"an_id": "b"})


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00Z"),
        (datetime(2026, 3, 1, 12, 0, 0, 250_999, tzinfo=UTC), "2026-03-01T12:00:00.250Z"),
        (datetime(2026, 3, 1, 12, 0, 0, 999, tzinfo=UTC), "2026-03-01T12:00:00Z"),
        (datetime(2026, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=2))), "2026-02-28T23:30:00Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_a_moment_is_written_in_utc_with_a_z_and_whole_milliseconds(moment: datetime, text: str) -> None:
    sample = Sample(ran_at=moment)
    assert sample.model_dump(mode="json")["ranAt"] == text
    assert Sample.model_validate_json(sample.model_dump_json()) == sample
    assert iso(utc(moment)) == text


@pytest.mark.parametrize("wrong", ["2026-03-01T12:00:00", "2026-03-01", "12:00", 1_772_366_400, "soon", ""])
def test_a_moment_without_a_zone_or_that_is_none_is_refused(wrong: JsonValue) -> None:
    with pytest.raises(ValidationError):
        Sample.model_validate_json(json.dumps({"ranAt": wrong}))


@pytest.mark.parametrize("wrong", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
def test_a_moment_that_utc_has_no_year_for_is_refused_not_a_crash(wrong: str) -> None:
    with pytest.raises(ValidationError, match="outside the years 1 to 9999"):
        Sample.model_validate_json(json.dumps({"ranAt": wrong}))


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)))  # noqa: DTZ001 - the zone is drawn beside it
def test_milliseconds_and_back_is_the_same_moment(moment: datetime) -> None:
    whole = utc(moment)
    assert from_millis(to_millis(whole)) == whole
    assert datetime.fromisoformat(iso(whole)) == whole


@given(st.dictionaries(st.text(), JSON, max_size=5), st.randoms())
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, JsonValue], random: object) -> None:
    shuffled = dict(reversed(value.items()))
    assert digest(shuffled) == digest(value)
    assert digest({"inner": shuffled}) == digest({"inner": value})
    assert json.loads(canonical(value)) == value


@given(JSON, JSON)
def test_digests_are_equal_for_equal_values_only(one: JsonValue, other: JsonValue) -> None:
    assert (digest(one) == digest(other)) == (canonical(one) == canonical(other))


NUMBERS = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.sampled_from([0.0001, 0.00001, 1e15, 1e16, 1e22])
)


@given(JSON | st.dictionaries(st.text(), NUMBERS | st.none() | st.lists(NUMBERS)))
def test_the_canonical_text_is_what_the_standard_library_writes(value: JsonValue) -> None:
    plain = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert canonical(value) == canonical(value, finite=True) == plain


def test_a_digest_is_128_bits_in_hexadecimal_and_takes_text_that_utf_8_cannot_hold() -> None:
    for text in ("", "é", "\ud800"):
        assert len(bytes.fromhex(text_digest(text))) == 16
    assert digest([1, 2]) != digest([2, 1])
    assert digest(None) != digest("")
    assert digest("1") != digest(1)
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(float("nan"))


def test_a_digest_is_the_same_in_every_process() -> None:
    code = "from minions_evals_mcp.domain.digests import digest; print(digest({'b': [1, None], 'a': 'é'}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANG_S)
    assert said.stdout.strip() == digest({"a": "é", "b": [1, None]})


def test_digests_combine_in_any_order_and_one_alone_stays_as_it_is() -> None:
    assert combined([]) is None
    assert combined([None, None]) is None
    assert combined(["a", None, "a"]) == "a"
    assert combined(["a", "b"]) == combined(["b", "a", "b"])
    assert combined(["a", "b"]) not in {"a", "b", combined(["a", "c"])}


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"response": "4", "content": "3", "text": "2", "output": "1"}, "1"),
        ({"response": "4", "content": "3", "text": "2"}, "2"),
        ({"response": "4", "content": "3"}, "3"),
        ({"response": "4", "other": "5"}, "4"),
        ({"answer": "only", "tokens": 3}, "only"),
        ({"answer": "a", "other": "b"}, '{"answer":"a","other":"b"}'),
        ({"b": 1, "a": None}, '{"a":null,"b":1}'),
        ({"output": {"b": 1, "a": "é"}}, '{"a":"é","b":1}'),
        ({"output": None, "text": "not me"}, "null"),
        ({"output": ""}, ""),
        ({}, "{}"),
    ],
)
def test_the_text_of_an_output_is_its_first_known_key_else_its_only_string_else_json(
    output: dict[str, JsonValue], text: str
) -> None:
    assert output_text(output) == text


@given(JSON)
def test_the_text_of_a_value_is_itself_if_it_is_a_string_else_its_json(value: JsonValue) -> None:
    assert value_text(value) == value if isinstance(value, str) else json.loads(value_text(value)) == value


@pytest.mark.parametrize(
    "blank", ["", " ", "\t\r\n", "\u00a0", "\u200b\u200d", "\ufeff", "\u2060", "\u3164", "\u2800", "\u0301", "\x07"]
)
def test_what_shows_nothing_is_blank(blank: str) -> None:
    assert is_blank(blank)
    assert is_blank(blank + " " + blank)
    assert not is_blank(blank.replace("\0", "") + ".")


@pytest.mark.parametrize("seen", ["a", ".", "é", "日", "👍", "\u200b4", "-"])
def test_what_shows_anything_is_not_blank(seen: str) -> None:
    assert not is_blank(seen)


def test_an_assertions_negation_is_told_from_its_type() -> None:
    negated, plain = Assertion(type="not-contains", value="x"), Assertion(type="contains")
    assert (negated.negated, negated.base_type) == (True, "contains")
    assert (plain.negated, plain.base_type, plain.weight) == (False, "contains", 1)
    for wrong in ({"type": " "}, {"type": "contains", "weight": -1}, {"type": "contains", "values": 1}):
        with pytest.raises(ValidationError):
            Assertion.model_validate(wrong)
