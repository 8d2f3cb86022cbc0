"""Between JSON numbers 5 is 5.0, both ways and inside lists and mappings, wherever values are compared; texts stay texts."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.values import is_finite
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.score_rows import read_row, subject_of
from minions_evals_mcp.scoring.assertions.table import vet
from minions_evals_mcp.scoring.checks import Unchecked
from minions_evals_mcp.scoring.foreign.recorded import verdict_of
from minions_evals_mcp.scoring.verdicts.expected import meets
from minions_evals_mcp.sessions.conversation import count, number

Json = dict[str, JsonValue]


def _passes(row: Json) -> bool:
    return bool(read_row(json.dumps({"id": "r", **row})).answer()["pass"])


def _equals(wanted: JsonValue, given: JsonValue) -> bool:
    return _passes({"output": given, "assert": [{"type": "equals", "value": wanted}]})


def _argument(wanted: JsonValue, given: JsonValue) -> bool:
    calls: list[JsonValue] = [{"tool": "t", "arguments": {"x": given}}]
    value: Json = {"name": "t", "args": {"x": wanted}}
    return _passes(
        {"output": "-", "toolCalls": calls, "assert": [{"type": "trajectory:tool-args-match", "value": value}]}
    )


def _step(wanted: JsonValue, given: JsonValue) -> bool:
    calls: list[JsonValue] = [{"tool": "t", "arguments": {"x": given}}]
    value: Json = {"steps": [{"name": "t", "args": {"x": wanted}}]}
    return _passes({"output": "-", "toolCalls": calls, "assert": [{"type": "trajectory:match", "value": value}]})


def _key_by_key(wanted: JsonValue, given: JsonValue) -> bool:
    output: Json = {"n": given, "m": "x"}
    found = meets({"n": wanted, "m": "x"}, output, subject_of(output, {}))
    assert not isinstance(found, Unchecked)
    return found.passed


COMPARISONS: dict[str, Callable[[JsonValue, JsonValue], bool]] = {
    "equals": _equals, "tool arguments": _argument, "a step's arguments": _step, "expected outputs": _key_by_key,
}  # fmt: skip
WRAPPINGS: dict[str, Callable[[JsonValue], JsonValue]] = {
    "alone": lambda number: number,
    "in a list": lambda number: [1, number],
    "in a mapping": lambda number: {"a": number},
    "deep": lambda number: [{"a": [{"b": number}]}],
}
EQUAL = [(5, 5.0), (0, -0.0), (100, 1e2), (-3, -3.0), (0.5, 0.50), (2**53, float(2**53))]
UNEQUAL: list[tuple[JsonValue, JsonValue]] = [
    (5, 5.5),
    (5, "x5"),
    (1, True),
    (0, False),
    (0, None),
    (2**53 + 1, float(2**53)),
]


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_equal_numbers_are_equal_however_they_are_written(comparison: str, wrapping: str) -> None:
    for one, other in EQUAL:
        for wanted, given in ((one, other), (other, one)):
            wrapped = WRAPPINGS[wrapping]
            assert COMPARISONS[comparison](wrapped(wanted), wrapped(given)), (wanted, given)


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_what_is_no_equal_number_is_not_equal(comparison: str, wrapping: str) -> None:
    for wanted, given in UNEQUAL:
        wrapped = WRAPPINGS[wrapping]
        assert not COMPARISONS[comparison](wrapped(wanted), wrapped(given)), (wanted, given)


def test_a_text_that_looks_like_a_number_is_a_text() -> None:
    assert not _equals(5, "5.0")
    assert _equals(5, "5")
    assert not _passes({"output": "5.0", "assert": [{"type": "equals", "value": "5"}]})


@pytest.mark.parametrize("row", ['"output": 1e400', '"output": [1e999]', '"output": NaN', '"output": -Infinity'])
def test_what_json_has_no_number_for_is_refused_where_it_comes_in(row: str) -> None:
    with pytest.raises(InvalidRecordError, match="no JSON"):
        read_row(f'{{"id": "r", {row}, "assert": [{{"type": "equals", "value": 1}}]}}')
    with pytest.raises(InvalidRecordError, match="no JSON"):
        read_row('{"id": "r", "output": "x", "assert": [{"type": "equals", "value": 1e400}]}')


@pytest.mark.parametrize("kind", ["contains-any", "contains-all", "icontains-any", "icontains-all", "not-contains-any"])
@pytest.mark.parametrize("value", [["a", ""], ["a", " \t"], 'a, ""'])
def test_a_blank_entry_of_a_list_is_refused_by_its_place(kind: str, value: JsonValue) -> None:
    with pytest.raises(InvalidRecordError, match="blank") as error:
        vet(Assertion(type=kind, value=value))
    assert error.value.field == "value.1"


@pytest.mark.parametrize(
    "huge", [10**400, -(10**400), float("inf"), float("nan")], ids=["large", "small", "infinite", "none"]
)
def test_a_number_beyond_every_float_is_no_number_and_breaks_nothing(huge: float) -> None:
    assert not is_finite(huge)
    assert number(huge) is None
    assert count(huge) is None
    assert isinstance(verdict_of({"value": huge}), str)


def test_a_gain_beyond_every_float_is_refused_by_name() -> None:
    value: Json = {"metric": "recall", "relevant": {"a": 10**400}}
    with pytest.raises(InvalidRecordError, match="must be 0 or more"):
        vet(Assertion.model_validate({"type": "retrieval", "value": value, "threshold": 0.5}))
