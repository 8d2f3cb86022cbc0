"""Checks of structure: equality of values, JSON, and the schema that JSON fits."""

from __future__ import annotations

import json
from itertools import chain

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.outputs import TEXT_KEYS
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.schema import first_error, vet_schema
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.lenient import is_plainly_json, json_objects, parsed
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt, frozen, js_text


def equals(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """The output is `value`, exactly. A mapping, a list or null is compared with all of the output, read as JSON.

    Between JSON numbers 5 is 5.0.
    """
    wanted = assertion.value
    if not isinstance(wanted, dict | list | None):
        passed = js_text(wanted) == subject.text or _is_number(wanted, subject.value)
        return UnweightedResult(
            passed, f"{'equals' if passed else f'{excerpt(subject.text)} does not equal'} {excerpt(wanted)}"
        )
    text = subject.printed
    try:
        value = parsed(text)
    except json.JSONDecodeError as error:
        return _no_json(error, subject)
    passed = frozen(value) == frozen(wanted)
    return UnweightedResult(
        passed, f"{'equals' if passed else f'{excerpt(text)} does not equal'} the value, read as JSON"
    )


def _is_number(wanted: JsonValue, value: JsonValue) -> bool:
    """Two JSON numbers that are equal: 5 is 5.0. A text that looks like a number is a text."""
    return (
        all(isinstance(each, int | float) and not isinstance(each, bool) for each in (wanted, value))
        and wanted == value
    )


_IS_JSON = UnweightedResult(passed=True, reason="is JSON")


def is_json(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """The whole output is JSON, and fits the JSON Schema in `value` where one is given."""
    text = subject.printed
    if not assertion.value and is_plainly_json(text):
        return _IS_JSON
    try:
        value = parsed(text)
    except json.JSONDecodeError as error:
        return _no_json(error, subject)
    if not assertion.value:
        return _IS_JSON
    return _against(assertion.value, value)


def contains_json(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """A JSON object stands somewhere in the output, one that fits the JSON Schema in `value` where one is given.

    As leniently as promptfoo (comments, trailing commas, a missing brace at the end); a list alone does not count.
    """
    nothing_found = UnweightedResult(passed=False, reason="contains no JSON object")
    for value in chain.from_iterable(map(json_objects, dict.fromkeys((subject.printed, subject.text)))):
        if isinstance(value, Unmet):
            return value
        if not assertion.value:
            return UnweightedResult(passed=True, reason="contains a JSON object")
        nothing_found = _against(assertion.value, value)
        if nothing_found.passed:
            break
    return nothing_found


def vet_optional_schema(assertion: Assertion) -> None:
    """Refuses a `value` that is no JSON Schema; none at all is well, and promptfoo reads `false` as none."""
    match assertion.value:
        case None | "" | False:
            return
        case dict() | str():
            vet_schema(assertion.value)
        case other:
            raise InvalidRecordError(f"must be a JSON Schema, not {excerpt(other)}", field="value")


def vet_given(assertion: Assertion) -> None:
    """Refuses an assertion without a `value`; a null that is written down is one."""
    if "value" not in assertion.model_fields_set:
        raise InvalidRecordError("is missing", field="value")


def _against(schema: JsonValue, value: JsonValue) -> UnweightedResult:
    error = first_error(schema, value)
    return UnweightedResult(
        not error, f"JSON does not match the schema: {error}" if error else "JSON matches the schema"
    )


def _no_json(error: json.JSONDecodeError, subject: Subject) -> UnweightedResult:
    """The text that is no JSON, and under which key it stands where the program named it otherwise than `output`."""
    place = next((key for key in TEXT_KEYS if key in (subject.record or ())), TEXT_KEYS[0])
    named = "" if place == TEXT_KEYS[0] else f" (checked the text under the key {place!r})"
    return UnweightedResult(passed=False, reason=f"is not JSON: {error.msg} at character {error.pos}{named}")


TYPES: dict[str, AssertionKind] = {
    "contains-json": AssertionKind(contains_json, vet_optional_schema, stands_alone=True),
    "equals": AssertionKind(equals, vet_given),
    "is-json": AssertionKind(is_json, vet_optional_schema, stands_alone=True),
}
