"""Checks of the spans of a trace: how many there are, how long they last, which of them failed; and what is refused."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked

SPANS: list[JsonValue] = [
    {"name": "tool a", "startTime": 0, "endTime": 100.5, "statusCode": 1},
    {"name": "tool b", "startTime": 10, "endTime": 310, "statusCode": 2},
    {
        "name": "Tool (c)",
        "startTime": 5,
        "attributes": {"http.status_code": "x", "error": "no"},
        "statusMessage": "fine",
    },
]
SUBJECT = Subject("a", tell=lambda: {"trace": {"traceId": "1", "spans": SPANS}})


@pytest.mark.parametrize(
    ("kind", "value", "passed"),
    [
        ("trace-span-count", {"pattern": "tool*", "min": 3, "max": 3}, True),
        ("trace-span-count", {"pattern": "tool ?", "min": 3}, False),
        ("trace-span-count", {"pattern": "tool (c)", "max": 0}, False),
        ("not-trace-span-count", {"pattern": "tool (c)", "max": 0}, True),
        ("trace-span-duration", {"max": 300}, True),
        ("trace-span-duration", {"max": 299}, False),
        ("trace-span-duration", {"max": 101, "percentile": 50}, True),
        ("trace-span-duration", {"max": 101, "percentile": 51}, False),
        ("trace-span-duration", {"max": 0, "pattern": "Tool (c)"}, True),
        ("trace-error-spans", None, False),
        ("trace-error-spans", 1, True),
        ("trace-error-spans", {"max_percentage": 33}, False),
        ("trace-error-spans", {"max_percentage": 34}, True),
        ("trace-error-spans", {"max_percentage": 34, "max_count": 0}, False),
        ("trace-error-spans", {"pattern": "nothing"}, True),
    ],
)
def test_spans_are_counted_timed_and_looked_at_for_errors(kind: str, value: JsonValue, passed: bool) -> None:
    assertion = Assertion(type=kind, value=value)
    vet(assertion)
    result = check(assertion, SUBJECT)
    assert isinstance(result, Checked)
    assert (result.passed, result.score) == (passed, float(passed))


def test_without_a_trace_there_is_no_verdict() -> None:
    of_calls = Subject("a", tell=lambda: {"trace": {"spans": SPANS}})
    for subject in (Subject("a"), of_calls):
        result = check(Assertion(type="trace-error-spans"), subject)
        assert isinstance(result, Unchecked)
        assert "unknown" in result.reason


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("trace-span-count", {"min": 1}, "must be a name or a pattern"),
        ("trace-span-count", {"pattern": "a", "min": "1"}, "must be a number"),
        ("trace-span-count", "a", "must be an object"),
        ("trace-span-duration", {"pattern": "a"}, 'must have "max"'),
        ("trace-span-duration", {"pattern": "", "max": 1}, "must be a name or a pattern"),
        ("trace-span-duration", {"max": 1, "percentile": 101}, "must be from 0 to 100"),
        ("trace-error-spans", {"most": 1}, "has no 'most'"),
        ("trace-error-spans", {"max_count": True}, "must be a number"),
        ("trace-error-spans", {"pattern": 1}, "must be a name or a pattern"),
    ],
)
def test_a_value_that_says_nothing_is_refused(kind: str, value: JsonValue, words: str) -> None:
    with pytest.raises(InvalidRecordError, match=words):
        vet(Assertion(type=kind, value=value))
