"""`value_code`: Python or JavaScript that gives a check's `value` for each output, run in a sandbox beforehand."""

from __future__ import annotations

from collections.abc import Callable

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.code_context import given_to_check
from minions_evals_mcp.scoring.checks import (
    Evidence,
    Need,
    Ran,
    SnippetError,
    SnippetNeed,
    Subject,
    TransformedNeed,
    Unmet,
)
from minions_evals_mcp.scoring.values import UnweightedResult

Vet = Callable[[Assertion], None]
Needs = Callable[[Assertion, Subject], tuple[Need, ...]]


def value_need(assertion: Assertion, subject: Subject) -> SnippetNeed:
    """The run that gives the value; its code sees `output` and `context` as a check does."""
    given = assertion.value_code
    assert given is not None, "it is used for checks whose value comes from code"
    variables, guards = given_to_check(given.code, subject, assertion.config, given.language)
    return SnippetNeed(given.language, given.code, variables, guards=guards)


def needs_of_value(assertion: Assertion, subject: Subject, needs: Needs, vet: Vet) -> tuple[Need, ...]:
    """The code's run, and whatever the check will need of the value that it gives."""
    snippet = value_need(assertion, subject)

    def behind(ran: Ran) -> tuple[Need, ...]:
        known = _with_value(assertion, ran, vet)
        return () if isinstance(known, Unmet) else needs(known, subject)

    return (snippet, TransformedNeed(snippet, behind))


def with_value(
    assertion: Assertion, subject: Subject, evidence: Evidence, vet: Vet
) -> Assertion | UnweightedResult | Unmet:
    """The check with the value that its code gave for this output; why not, where it gave none that fits.

    Python that goes wrong fails the check, under `not-` too, as in promptfoo.
    """
    need = value_need(assertion, subject)
    ran = evidence.snippets[need]
    if isinstance(ran, SnippetError) and need.language == "python" and ran.kind in {"raised", "syntax"}:
        return UnweightedResult(passed=False, reason=f"value: {ran.error}")
    return _with_value(assertion, ran, vet) if isinstance(ran, Ran) else Unmet(f"value: {ran.error}")


def _with_value(assertion: Assertion, ran: Ran, vet: Vet) -> Assertion | Unmet:
    value = ran.value
    if value is None or isinstance(value, bool) or (isinstance(value, dict) and "pass" in value):
        return Unmet(f"value: the code returned {'nothing' if value is None else 'a verdict'}, not the expected value")
    known = assertion.model_copy(update={"value": value, "value_code": None})
    try:
        vet(known)
    except InvalidRecordError as error:
        return Unmet(f"value: {error.reason}")
    return known
