"""Checks of what an agent brought about: `effect` on its calls, `state` on the final state of its world."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import ToolCall, tool_calls_of
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked

Json = dict[str, JsonValue]
CALLS = tool_calls_of(
    [
        {"tool": "get_order", "arguments": {"id": "A1"}, "extra": {"server": "shop"}},
        {"tool": "refund", "arguments": {"id": "A1", "amount": 40.0}, "extra": {"server": "shop"}},
        {"tool": "refund", "arguments": {"id": "A2", "amount": 1}, "error": "not allowed", "extra": {"server": "shop"}},
        {"tool": "mail.send", "arguments": {"to": ["ada", "bob"]}, "extra": {"server": "mail"}},
    ]
)
STATE: Json = {"orders": {"A1": {"status": "refunded", "total": 0.5}}, "log": ["a", {"n": 1, "m": 2}], "empty": []}


def checked(
    kind: str, value: JsonValue, *, calls: tuple[ToolCall, ...] | None = CALLS, state: Json | None = STATE
) -> Checked:
    """The verdict of the vetted check."""
    assertion = Assertion(type=kind, value=value)
    vet(assertion)
    result = check(assertion, Subject("done", tool_calls=calls, state=state))
    assert isinstance(result, Checked), result
    return result


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ({"tool": "refund"}, True),
        ({"tool": "REF*"}, True),
        ({"tool": "refund", "times": 1}, True),
        ({"tool": "refund", "times": 2}, False),
        ({"tool": "refund", "times": 2, "attempts": True}, True),
        ({"tool": "refund", "never": True}, False),
        ({"tool": "refund", "args": {"id": "A2"}, "never": True}, True),
        ({"tool": "refund", "args": {"id": "A2"}, "never": True, "attempts": True}, False),
        ({"tool": "refund", "args": {"id": "A1", "amount": 40}}, True),
        ({"tool": "refund", "args": {"amount": 41}}, False),
        ({"tool": "refund", "min": 2}, False),
        ({"tool": "refund", "max": 1}, True),
        ({"tool": "drop", "max": 1}, True),
        ({"tool": "drop", "never": True}, True),
        ({"tool": "drop"}, False),
        ({"tool": "*", "server": "mail"}, True),
        ({"tool": "refund", "server": "mail"}, False),
        ({"tool": "mail.send", "args": {"to": ["ada", "bob"]}}, True),
        ({"tool": "mail.send", "args": {"to": ["ada"]}}, False),
        ({"tool": "get_order", "before": {"tool": "refund"}}, True),
        ({"tool": "refund", "before": {"tool": "get_order"}}, False),
        ({"tool": "get_order", "before": {"tool": "drop"}}, True),
        ({"tool": "drop", "min": 0, "before": {"tool": "drop"}}, True),
        ({"tool": "drop", "min": 0, "before": {"tool": "refund"}}, False),
    ],
)
def test_an_effect_is_a_call_that_happened(value: JsonValue, passes: bool) -> None:
    assert checked("effect", value).passed is passes
    assert checked("not-effect", value).passed is not passes


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ({"query": "orders.A1.status", "equals": "refunded"}, True),
        ({"query": "orders.A1.status", "equals": "paid"}, False),
        ({"query": "get(orders, 'A1').total", "min": 0.5, "max": 1}, True),
        ({"query": "orders.A1.total", "min": 1}, False),
        ({"query": "orders.A1.status", "min": 0}, False),
        ({"query": "orders.A1.status", "contains": "fund"}, True),
        ({"query": "log", "contains": "a"}, True),
        ({"query": "log", "contains": {"n": 1}}, True),
        ({"query": "log", "contains": {"n": 2}}, False),
        ({"query": "orders.A1", "contains": {"status": "refunded"}}, True),
        ({"query": "orders.A1"}, True),
        ({"query": "empty"}, False),
        ({"query": "orders.B"}, False),
        ({"query": "orders.B", "equals": None}, True),
        ({"query": "length(log)", "equals": 2}, True),
        ({"query": "add(orders.A1.status, `1`)", "equals": 1}, False),
    ],
)
def test_a_state_is_as_the_query_gives_it(value: JsonValue, passes: bool) -> None:
    assert checked("state", value).passed is passes


def test_the_reason_says_what_was_found_and_what_was_wanted() -> None:
    assert (
        checked("state", {"query": "orders.A1.total", "min": 1}).reason == "orders.A1.total is 0.5, wanted at least 1.0"
    )
    found = checked("effect", {"tool": "refund", "args": {"id": "A1"}, "times": 2}).reason
    assert found.startswith('refund {"id":"A1"} happened once, wanted 2 times; calls: get_order, refund, mail.send')


def test_what_is_not_known_is_not_judged() -> None:
    unknown = check(Assertion(type="state", value={"query": "a"}), Subject("x", tool_calls=()))
    assert isinstance(unknown, Unchecked)
    assert unknown.not_judgeable
    assert isinstance(check(Assertion(type="effect", value={"tool": "a"}), Subject("x")), Unchecked)


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("state", "orders", "must be an object"),
        ("state", {"query": "a =="}, "is no JMESPath expression"),
        ("state", {"query": "a", "equal": 1}, "did you mean 'equals'?"),
        ("effect", {"args": {}}, "value.tool"),
        ("effect", {"tool": "a", "times": 1, "never": True}, "give times, never, or min and max"),
        ("effect", {"tool": "a", "never": True, "before": {"tool": "b"}}, "comes before nothing"),
        ("effect", {"tool": "a", "before": {"tol": "b"}}, "did you mean 'tool'?"),
        ("effect", {"tool": "a", "times": -1}, "greater than or equal to 0"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_when_it_is_read(kind: str, value: JsonValue, told: str) -> None:
    with pytest.raises(InvalidRecordError, match="value") as refused:
        vet(Assertion(type=kind, value=value))
    assert told in str(refused.value)
