"""`trace-span-count`, `trace-span-duration`, `trace-error-spans`: checks of the spans of an output's trace.

An output whose trace is not known gives no verdict; in promptfoo 0.123.1 its test ends in an error. `not-` turns the
verdict round; there it changes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.trajectories.span_steps import spans_of
from minions_evals_mcp.scoring.assertions.trajectories.steps import fits_pattern, mapping, vet_object, vet_pattern
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

ANY = "*"
ERROR_STATUS, LEAST_HTTP_ERROR = 2, 400
_ERROR_KEYS = ("error", "exception", "failed", "failure")
_STATUS_KEYS = ("otel.status_code", "status.code")
_ERROR_WORDS = late(r"error|failed|failure|exception|timeout|abort", re.IGNORECASE)


def span_count(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """So many spans have a name that fits `pattern` (`*`, `?`, any case): at least `min`, at most `max`."""
    spans, value = _spans(subject, assertion), mapping(assertion.value)
    if isinstance(spans, Unmet):
        return spans
    low, high = _number(value.get("min")), _number(value.get("max"))
    passed = (low is None or len(spans) >= low) and (high is None or len(spans) <= high)
    wanted = f"wanted {'any' if low is None else f'{low:g}'} to {'any' if high is None else f'{high:g}'}"
    return UnweightedResult(passed, f"{len(spans)} spans fit {excerpt(value.get('pattern'))}, {wanted}")


def span_duration(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """No span that fits `pattern` lasts longer than `max` milliseconds; with `percentile`, that share of them does not.

    Spans without an end are left out; where none is left, it passes.
    """
    spans, value = _spans(subject, assertion), mapping(assertion.value)
    if isinstance(spans, Unmet):
        return spans
    times = ((_number(span.get("startTime")), _number(span.get("endTime"))) for span in spans)
    lasted = sorted(end - start for start, end in times if start is not None and end is not None)
    if not lasted:
        return UnweightedResult(passed=True, reason="no span with a start and an end fits")
    share, limit = _number(value.get("percentile")), _number(value.get("max"))
    seen = lasted[-1] if share is None else lasted[max(0, math.ceil(share / 100 * len(lasted)) - 1)]
    named = "the longest" if share is None else f"the {share:g}th percentile"
    return UnweightedResult(
        limit is not None and seen <= limit, f"{named} of {len(lasted)} spans is {seen:g} ms, at most {limit:g}"
    )


def error_spans(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """At most so many spans failed (`value`, or `max_count`; 0 where nothing is said), at most `max_percentage` of those that
    fit `pattern`.

    A span failed by its status (2, or 400 and more), a status message or an attribute that says so, or an HTTP status from 400.
    """
    spans, value = _spans(subject, assertion), assertion.value
    if isinstance(spans, Unmet):
        return spans
    limits = mapping(value)
    most, share = (
        _number(value) if not limits else _number(limits.get("max_count")),
        _number(limits.get("max_percentage")),
    )
    if most is None and share is None:
        most = 0.0
    failed = [str(span.get("name")) for span in spans if _failed(span)]
    percentage = 100 * len(failed) / len(spans) if spans else 0.0
    passed = (most is None or len(failed) <= most) and (share is None or percentage <= share)
    return UnweightedResult(
        passed, f"{len(failed)} of {len(spans)} spans failed: {excerpt(', '.join(failed) or 'none', 200)}"
    )


def vet_count(assertion: Assertion) -> None:
    """Refuses a `value` without `pattern`, and bounds that are no numbers."""
    value = vet_object(assertion.value, {"pattern", "min", "max"})
    vet_pattern(value.get("pattern"), "value.pattern")
    _vet_numbers(value, "min", "max")


def vet_duration(assertion: Assertion) -> None:
    """Refuses a `value` without `max`, and a percentile that is none."""
    value = vet_object(assertion.value, {"pattern", "max", "percentile"})
    if "max" not in value:
        raise InvalidRecordError('must have "max"', field="value")
    if "pattern" in value:
        vet_pattern(value["pattern"], "value.pattern")
    _vet_numbers(value, "max", "percentile")
    if not 0 <= (_number(value.get("percentile")) or 0) <= 100:
        raise InvalidRecordError("must be from 0 to 100", field="value.percentile")


def vet_errors(assertion: Assertion) -> None:
    """Refuses a `value` that is no number and no {max_count, max_percentage, pattern}."""
    if assertion.value is None or _number(assertion.value) is not None:
        return
    value = vet_object(assertion.value, {"pattern", "max_count", "max_percentage"})
    if "pattern" in value:
        vet_pattern(value["pattern"], "value.pattern")
    _vet_numbers(value, "max_count", "max_percentage")


def _vet_numbers(value: Json, *names: str) -> None:
    for name in names:
        if name in value and _number(value[name]) is None:
            raise InvalidRecordError(f"must be a number, not {excerpt(value[name])}", field=f"value.{name}")


def _spans(subject: Subject, assertion: Assertion) -> Sequence[Json] | Unmet:
    """The spans of the output's trace whose names fit the pattern."""
    spans, pattern = spans_of(subject), str(mapping(assertion.value).get("pattern") or ANY)
    return (
        spans if isinstance(spans, Unmet) else [span for span in spans if fits_pattern(pattern, str(span.get("name")))]
    )


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _failed(span: Json) -> bool:
    status, attributes = _number(span.get("statusCode")), mapping(span.get("attributes"))
    if status is not None and (status == ERROR_STATUS or status >= LEAST_HTTP_ERROR):
        return True
    error_values = (attributes.get(name) for name in _ERROR_KEYS)
    if any(value is True or value == "true" or isinstance(value, dict | list) for value in error_values):
        return True
    if _http_status(attributes.get("http.status_code")) >= LEAST_HTTP_ERROR:
        return True
    message = span.get("statusMessage")
    return any(attributes.get(name) == "ERROR" for name in _STATUS_KEYS) or (
        isinstance(message, str) and _ERROR_WORDS.search(message) is not None
    )


def _http_status(value: JsonValue) -> float:
    """The status that an attribute says, also as a text; 0 where it says none."""
    try:
        return float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        return 0.0


TYPES: dict[str, AssertionKind] = {
    "trace-error-spans": AssertionKind(error_spans, vet_errors, turned_there=False),
    "trace-span-count": AssertionKind(span_count, vet_count, turned_there=False),
    "trace-span-duration": AssertionKind(span_duration, vet_duration, turned_there=False),
}
