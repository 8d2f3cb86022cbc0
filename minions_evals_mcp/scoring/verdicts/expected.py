"""Judging by what was expected: a plain string is looked for, `/…/` is a pattern, other JSON must be equal."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.outputs import TEXT_KEYS, output_text, value_text
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.scoring.assertions.table import check, needs
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Checked, Evidence, Need, Subject, Unchecked
from minions_evals_mcp.scoring.values import js_text


def expectation(expected: JsonValue) -> Assertion:
    """The check that an expected value stands for."""
    if not isinstance(expected, str):
        return Assertion(type="equals", value=expected)
    if is_pattern(expected):
        return Assertion(type="regex", value=expected[1:-1])
    return Assertion(type="icontains", value=expected)


def is_pattern(expected: JsonValue) -> bool:
    """Returns whether an expected value is a pattern to be found: `/…/`."""
    return isinstance(expected, str) and expected[:1] == expected[-1:] == "/" and len(expected) > 2


def _parts(expected: Json, output: Json, subject: Subject) -> list[tuple[str, Assertion, Subject | None]]:
    """Each expected key, its check, and the text that it looks at; None where the output lacks the key."""
    if len(expected) == 1:
        ((key, value),) = expected.items()
        whole = subject._replace(text=output_text(output))
        return [(key, expectation(value), _under(key, output, subject) if key in output else whole)]
    return [
        (key, expectation(value), _under(key, output, subject) if key in output else None)
        for key, value in expected.items()
    ]


def _under(key: str, output: Json, subject: Subject) -> Subject:
    """What stands under one key of the output, as all that a check sees."""
    value = output[key]
    return subject._replace(text=plain_text(value), value=None if isinstance(value, str) else value, record=None)


def plain_text(value: JsonValue) -> str:
    """The text of one key's value; 5.0 reads as 5, as JSON has one kind of number."""
    return value_text(value) if isinstance(value, dict | list) else js_text(value)


def expected_needs(expected: Json, output: Json, subject: Subject) -> tuple[Need, ...]:
    """The evidence that `meets` will look up."""
    return tuple(
        need
        for _, assertion, seen in _parts(expected, output, subject)
        if seen is not None
        for need in needs((assertion,), seen)
    )


def missed(expected: Json, output: Json, subject: Subject) -> Json:
    """The expected keys that the output does not meet for certain: what only evidence could show stays among them."""
    parts = _parts(expected, output, subject)
    results = {key: None if seen is None else check(assertion, seen, NO_EVIDENCE) for key, assertion, seen in parts}
    met = {
        key
        for key, result in results.items()
        if result is not None and not isinstance(result, Unchecked) and result.passed
    }
    return {key: value for key, value in expected.items() if key not in met}


def missing_keys(expected: Json | None, output: Json) -> tuple[str, ...]:
    """The expected keys that the output lacks. A text is looked at whole where one key is expected, so it lacks none."""
    wanted = expected or {}
    if len(wanted) == 1 and (
        len(output) < 2 or any(key in output for key in TEXT_KEYS) or any(key in wanted for key in TEXT_KEYS)
    ):
        return ()
    return tuple(key for key in wanted if key not in output)


def meets(expected: Json, output: Json, subject: Subject, *, evidence: Evidence = NO_EVIDENCE) -> Checked | Unchecked:
    """Returns whether the output has everything that was expected; all keys must, and the reason names each that does not."""
    reasons: list[str] = []
    missed: list[str] = []
    for key, assertion, seen in _parts(expected, output, subject):
        if seen is None:
            missed.append(f"{key}: the output has no such key")
            continue
        result = check(assertion, seen, evidence)
        if isinstance(result, Unchecked):
            return result
        (reasons if result.passed else missed).append(f"{key}: {result.reason}" if len(expected) > 1 else result.reason)
    passed = not missed
    return Checked("expected", passed, float(passed), "; ".join(missed or reasons) or "nothing was expected")
