"""`foreign-scorer`: a scorer of another tool, carried out by its documented meaning, else by the score that it recorded."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.foreign.inspect_scorers import Scored, carried_out, found
from minions_evals_mcp.scoring.foreign.recorded import FULL, RecordedVerdict, verdict_of
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

FOREIGN_SCORER = "foreign-scorer"
INSPECT = "inspect"
_KEYS = frozenset({"tool", "scorer", "name", "options", "targets", "choices", "multiple"})


def foreign_scorer(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """A scorer of another tool: Inspect's own by their documented meaning, any other by the score that it recorded.

    `value` is {tool, scorer, name, options, targets, choices, multiple}; `name` is that of its score in the log. A number
    passes from `threshold` on, without one from 1. Without a recorded score an output cannot be judged.
    """
    value = _value(assertion)
    result = _documented(value, assertion.threshold, subject)
    return _recorded(value, assertion.threshold, subject) if result is None else result


def is_carried_out(value: Mapping[str, JsonValue]) -> bool:
    """Whether the scorer of that `value` can be carried out here."""
    if value.get("tool") != INSPECT or not isinstance(value.get("targets"), list):
        return False
    options = value.get("options")
    return carried_out(str(value.get("scorer")), options if isinstance(options, dict) else {})


def vet_scorer(assertion: Assertion) -> None:
    """Refuses a `value` that names no tool or no scorer, and keys that are not known."""
    value = _value(assertion)
    if not all(isinstance(value.get(key), str) and value[key] for key in ("tool", "scorer")):
        raise InvalidRecordError(f"must be {{tool, scorer, …}}, not {excerpt(assertion.value)}", field="value")
    if unknown := sorted(value.keys() - _KEYS):
        raise InvalidRecordError(f"{unknown[0]} is not known; known are {', '.join(sorted(_KEYS))}", field="value")


def _documented(value: Mapping[str, JsonValue], threshold: float | None, subject: Subject) -> UnweightedResult | None:
    if not is_carried_out(value):
        return None
    options, targets, choices = value.get("options"), value.get("targets"), value.get("choices")
    scored = Scored(
        subject.text,
        tuple(str(target) for target in targets) if isinstance(targets, list) else (),
        options if isinstance(options, dict) else {},
        choices if isinstance(choices, int) else 0,
        bool(value.get("multiple")),
    )
    name = str(value["scorer"])
    result = found(name, scored)
    if result is None:
        return None
    passed = result.score >= (FULL if threshold is None else threshold)
    wanted = excerpt(" | ".join(scored.targets))
    return UnweightedResult(passed, f"Inspect's {name} of {wanted}: {result.score:g}", result.score)


def _recorded(value: Mapping[str, JsonValue], threshold: float | None, subject: Subject) -> UnweightedResult | Unmet:
    tool, scorer = str(value["tool"]), str(value["scorer"])
    name = str(value.get("name") or scorer)
    score = next((score for score in reversed(subject.recorded_scores) if score.get("name") == name), None)
    if score is None:
        return Unmet(f"not available: scorer {name} of {tool} recorded no score for this output", not_judgeable=True)
    verdict = verdict_of(score, threshold=threshold)
    if not isinstance(verdict, RecordedVerdict):
        return Unmet(f"not available: scorer {name} of {tool}: {verdict}", not_judgeable=True)
    said = score.get("explanation")
    reason = f"recorded verdict of {tool}'s {name}: {verdict.value}"
    return UnweightedResult(
        verdict.passed, f"{reason} ({excerpt(said)})" if isinstance(said, str) and said else reason, verdict.score
    )


def _value(assertion: Assertion) -> Mapping[str, JsonValue]:
    return assertion.value if isinstance(assertion.value, dict) else {}


TYPES: dict[str, AssertionKind] = {
    FOREIGN_SCORER: AssertionKind(foreign_scorer, vet_scorer),
}
