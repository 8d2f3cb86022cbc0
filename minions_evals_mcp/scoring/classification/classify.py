"""The cascade of failure types, in the order of their table: the first with enough evidence is it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain

from minions_evals_mcp.domain.failing.failure_types import FAILURE_TYPES, FailureType
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.results import Severity
from minions_evals_mcp.scoring.classification.refusals import refusal_signals
from minions_evals_mcp.scoring.classification.root_cause import root_cause
from minions_evals_mcp.scoring.conversations.causes import turn_causes
from minions_evals_mcp.scoring.failures.failed import OWN_CHECKS, Analysis, FailedCriterion, FailedOutput, Signal
from minions_evals_mcp.scoring.failures.formats import format_signals
from minions_evals_mcp.scoring.failures.grounding import hallucination_signals
from minions_evals_mcp.scoring.failures.own_checks import own_failed
from minions_evals_mcp.scoring.failures.texts import CUT, cut, seen_apart, told_apart
from minions_evals_mcp.scoring.failures.timeouts import timeout_signals

MOST_SIGNALS = 12
SURE_FROM = 0.75
"""The confidence from which no model needs to be asked."""
BY_EXCLUSION = 0.6
KNOWN_FROM = 0.65
"""The confidence below which a reader is told that the cause is not known; what is left by exclusion names none."""
_OF_FORM = frozenset(("form", "json", "schema"))
LONGEST_REASON = 600
_PASSED = re.compile(r"; (?=passed [\w:-]+(?:: | \())")
_LOOKS_FOR = re.compile(r"(?:^|; )failed (?:not-)?(?:equals|i?contains(?!-[jsxh])|similar|levenshtein|starts-with)")
DOUBTFUL = 0.45
"""The confidence in wrong-output where weak signs point elsewhere."""


DETECTORS: dict[FailureType, Callable[[FailedOutput], tuple[Signal, ...]]] = {
    "timeout": timeout_signals,
    "refusal": refusal_signals,
    "format-error": format_signals,
    "hallucination": hallucination_signals,
}
"""What finds the signs of each type; wrong-output is what is left where none decides."""


def classify(failed: FailedOutput, *, critical_below: float = 0.25, major_below: float = 0.6) -> Analysis:
    """Returns why the output failed, by rule. The two limits are of the normalised score (0 to 1), exclusive."""
    evidence: dict[FailureType, tuple[Signal, ...]] = {
        kind: DETECTORS[kind](failed) for kind in FAILURE_TYPES if kind in DETECTORS
    }
    if own_failed(failed):  # what the form is to be stands in code that nobody but its writer reads
        evidence["format-error"] = tuple(signal for signal in evidence["format-error"] if signal.kind not in _OF_FORM)
    failure_type, confidence, sure = _verdict(evidence)
    own = evidence.get(failure_type, ())
    signals = (
        *own,
        *chain.from_iterable(signals_of_kind for kind, signals_of_kind in evidence.items() if kind != failure_type),
    )
    turns = turn_causes(failed.turns, failed.knows) if failed.turns else []
    signals = (*signals, *(Signal(cause.kind, f"turn {cause.turn}: {cause.quotation}", 0.0) for cause in turns))
    affected = _most_affected(failed.criteria)
    return Analysis(
        failure_type=failure_type,
        severity=_severity(failed.score_fraction, critical_below, major_below),
        description=_description(failed, affected),
        affected_criterion_ids=tuple(criterion.criterion_id for criterion in affected),
        root_cause=turns[0].said if turns else root_cause(failed, failure_type, signals),
        signals=tuple(dict.fromkeys(signal.quoted for signal in signals))[:MOST_SIGNALS],
        confidence=confidence,
        sure=sure,
    )


def _verdict(evidence: dict[FailureType, tuple[Signal, ...]]) -> tuple[FailureType, float, bool]:
    """The first class with a signal that decides; each further one of its kind makes it a little surer, up to 0.95."""
    for failure_type, signals in evidence.items():
        deciding = sorted((signal.confidence for signal in signals if signal.decides), reverse=True)
        if deciding:
            confidence = max(deciding[0], min(0.95, deciding[0] + 0.05 * (len(deciding) - 1)))
            return failure_type, round(confidence, 2), confidence >= SURE_FROM
    doubtful = any(evidence.values())
    return "wrong-output", DOUBTFUL if doubtful else BY_EXCLUSION, not doubtful


def _severity(fraction: float, critical_below: float, major_below: float) -> Severity:
    if fraction < critical_below:
        return "critical"
    return "major" if fraction < major_below else "minor"


def _most_affected(criteria: tuple[FailedCriterion, ...]) -> tuple[FailedCriterion, ...]:
    """The criteria that cost the most, the costliest first: those within half of the largest loss."""
    lost = sorted((criterion for criterion in criteria if criterion.loss > 0), key=lambda failed: -failed.loss)
    return tuple(failed for failed in lost if failed.loss >= lost[0].loss / 2)


def _description(failed: FailedOutput, affected: tuple[FailedCriterion, ...]) -> str:
    """The recorded reason of what failed on the first line, on the second what came, beside what a check compared it with.

    Where the expected output alone decides, the comparison is the reason.
    """
    reason = _reason(affected[0]) if affected else ""
    came = _what_came(failed, affected, reason)
    is_whole = not failed.checks and came.startswith("Expected")
    return came if is_whole or not reason else f"{reason}\n{came}"


def _reason(worst: FailedCriterion) -> str:
    if worst.name == OWN_CHECKS:
        return cut(failed_checks(worst.rationale), LONGEST_REASON)
    points = worst.points or f"{worst.fraction:.2f} of 1"
    return f"{worst.name} ({points}): {cut(worst.rationale, LONGEST_REASON)}"


def failed_checks(rationale: str) -> str:
    """Of the reasons of all checks those that failed: they come first."""
    return _PASSED.split(rationale, maxsplit=1)[0]


def _what_came(failed: FailedOutput, affected: tuple[FailedCriterion, ...], reason: str) -> str:
    wanted = output_text(failed.expected) if failed.expected and _is_compared(failed, affected, reason) else ""
    if not wanted:
        return "Nothing came." if failed.is_empty else f"Got “{cut(failed.text)}”."
    expected, text = seen_apart(told_apart([wanted, failed.text], CUT))
    if wanted == failed.text:
        return f"Got “{text}”, as expected."
    return f"Expected “{expected}”, {'nothing came' if failed.is_empty else f'got “{text}”'}."


def _is_compared(failed: FailedOutput, affected: tuple[FailedCriterion, ...], reason: str) -> bool:
    """Tells whether what failed compared the output with what was expected: no rubric's criterion did, nor a check of form."""
    if affected and affected[0].name != OWN_CHECKS:
        return False
    return not failed.checks or _LOOKS_FOR.search(reason) is not None
