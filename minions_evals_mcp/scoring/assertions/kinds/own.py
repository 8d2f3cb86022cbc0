"""A check that is a function of the user's: it runs in their program, and its verdict is handed in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.checks import Checked, Evidence, OwnVerdict, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

FUNCTION = "function"


def function(assertion: Assertion, _subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """A Python function of yours says so: `evaluate(…, checks=[function])` runs it, nothing else can.

    `value` is {name, code}: what it is called, and the digest of its source. A number passes from `threshold` on.
    """
    name = named(assertion)
    verdict = evidence.own.get(name)
    if verdict is None:
        return Unmet(f"the function {excerpt(name)} is in the program that calls evaluate(…); run that again")
    if isinstance(verdict, Unmet):
        return verdict
    threshold = 0.5 if assertion.threshold is None else assertion.threshold
    if verdict.parts:
        return _several(name, [_part(part, given, threshold) for part, given in verdict.parts])
    passed, score = _judged(verdict, threshold)
    return UnweightedResult(passed, f"{name}: {verdict.reason or _returned(verdict, threshold, passed=passed)}", score)


def _judged(verdict: OwnVerdict, threshold: float) -> tuple[bool, float]:
    score = (1.0 if verdict.passed else 0.0) if verdict.score is None else verdict.score
    return score >= threshold if verdict.passed is None else verdict.passed, score


def _returned(verdict: OwnVerdict, threshold: float, *, passed: bool) -> str:
    """What a function without a reason of its own returned; a number that fails also with the one it must reach."""
    if verdict.score is None:
        return f"returned {verdict.passed}"
    needed = "" if passed or verdict.passed is not None else f", {threshold:g} is needed"
    return f"score {verdict.score:.2f}{needed}"


def _part(name: str, verdict: OwnVerdict, threshold: float) -> Checked:
    passed, score = _judged(verdict, threshold)
    return Checked(FUNCTION, passed, score, verdict.reason or _returned(verdict, threshold, passed=passed), metric=name)


def _several(name: str, parts: Sequence[Checked]) -> UnweightedResult:
    """The verdict of a function that gave several scores: all must pass, and its score is their mean."""
    told = [part for part in parts if not part.passed] or parts
    reason = "; ".join(f"{part.metric}: {part.reason}" for part in told)
    score = sum(part.score for part in parts) / len(parts)
    return UnweightedResult(all(part.passed for part in parts), f"{name}: {reason}", score, parts=tuple(parts))


def named(assertion: Assertion) -> str:
    """The function's name."""
    return str(assertion.value["name"]) if isinstance(assertion.value, dict) else ""


def own_names(assertions: Sequence[Assertion]) -> Iterator[str]:
    """The functions that assertions ask for, those in sets included."""
    for assertion in assertions:
        if assertion.base_type == FUNCTION:
            yield named(assertion)
        yield from own_names(assertion.assertions)


def vet_named(assertion: Assertion) -> None:
    """Refuses a `value` that names no function."""
    if not isinstance(assertion.value, dict) or not assertion.value.get("name"):
        raise InvalidRecordError(f"must be {{name, code}}, not {excerpt(assertion.value)}", field="value")


TYPES: dict[str, AssertionKind] = {
    FUNCTION: AssertionKind(function, vet_named),
}
