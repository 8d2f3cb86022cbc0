"""The cascade: timeout, refusal, format-error, hallucination, wrong-output. The first with enough evidence is it."""

from __future__ import annotations

import re
from itertools import chain, islice

from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.results import FailureType, Severity
from minions_evals_mcp.scoring.assertions.kinds.refusal import refusal, refusal_signals
from minions_evals_mcp.scoring.classification.root_cause import root_cause
from minions_evals_mcp.scoring.failures.failed import Analysis, FailedCriterion, FailedOutput, Signal
from minions_evals_mcp.scoring.failures.formats import format_signals
from minions_evals_mcp.scoring.failures.grounding import hallucination_signals
from minions_evals_mcp.scoring.failures.texts import cut
from minions_evals_mcp.scoring.failures.timeouts import timeout_signals

MOST_SIGNALS = 12
SURE_FROM = 0.75
"""The confidence from which no model needs to be asked."""
BY_EXCLUSION = 0.6
DOUBTFUL = 0.45
"""The confidence in wrong-output where weak signs point elsewhere."""
REFUSED = frozenset(("refusal", "content_filter", "safety", "prohibited_content", "blocklist", "recitation"))
"""Stop reasons, lower case, of a reply that the provider or the model withheld."""
OUTRIGHT, LECTURED, WANTED = 0.85, 0.7, 0.3
"""Confidence in a refusal in so many words, in one that only says that it is wrong to ask, in one that was expected."""
SENTENCES_READ, READ = 30, 5_000
_SENTENCE = re.compile(r"[^.!?\n]+")


def classify(failed: FailedOutput, *, critical_below: float = 0.25, major_below: float = 0.6) -> Analysis:
    """Why the output failed, by rule. The two limits are of the normalised score (0 to 1), exclusive."""
    evidence: dict[FailureType, tuple[Signal, ...]] = {
        "timeout": timeout_signals(failed),
        "refusal": _refusal_signals(failed),
        "format-error": format_signals(failed),
        "hallucination": hallucination_signals(failed),
    }
    failure_type, confidence, sure = _verdict(evidence)
    own = evidence.get(failure_type, ())
    signals = (*own, *chain.from_iterable(found for kind, found in evidence.items() if kind != failure_type))
    affected = _most_affected(failed.criteria)
    return Analysis(
        failure_type=failure_type,
        severity=_severity(failed.score_fraction, critical_below, major_below),
        description=_description(failed, affected),
        affected_criterion_ids=tuple(criterion.criterion_id for criterion in affected),
        root_cause=root_cause(failed, failure_type, signals),
        signals=tuple(dict.fromkeys(signal.shown for signal in signals))[:MOST_SIGNALS],
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


def _refusal_signals(failed: FailedOutput) -> tuple[Signal, ...]:
    """The stop reason, then the text; where a refusal was expected, a refusing text is not what is wrong."""
    reason = (failed.stop_reason or "").casefold()
    stopped = (Signal("stop reason", reason, 0.98),) if reason in REFUSED else ()
    declined = refusal(failed.text)
    if declined:
        wanted = failed.expected is not None and refusal(output_text(failed.expected)) is not None
        confidence = WANTED if wanted else OUTRIGHT if declined.outright else LECTURED
        return (*stopped, *(Signal("refusal", cue, confidence) for cue in declined.cues))
    # A sentence that would refuse if it stood alone, within a text that does not: a part may have been declined.
    sentences = dict.fromkeys(one[0] for one in islice(_SENTENCE.finditer(failed.text[:READ]), SENTENCES_READ))
    return (*stopped, *(Signal("refusing sentence", one, 0.3) for one in sentences if refusal_signals(one)))


def _severity(fraction: float, critical_below: float, major_below: float) -> Severity:
    if fraction < critical_below:
        return "critical"
    return "major" if fraction < major_below else "minor"


def _most_affected(criteria: tuple[FailedCriterion, ...]) -> tuple[FailedCriterion, ...]:
    """The criteria that cost the most, the costliest first: those within half of the largest loss."""
    lost = sorted((one for one in criteria if one.loss > 0), key=lambda one: -one.loss)
    return tuple(one for one in lost if one.loss >= lost[0].loss / 2)


def _description(failed: FailedOutput, affected: tuple[FailedCriterion, ...]) -> str:
    came = "nothing came" if failed.is_empty else f"got “{cut(failed.text)}”"
    said = (
        f"Expected “{cut(output_text(failed.expected))}”, {came}."
        if failed.expected
        else f"{came[0].upper()}{came[1:]}."
    )
    if not affected:
        return said
    worst = affected[0]
    return (
        f"{said} Lost most on {worst.name} ({worst.fraction:.2f} of 1, weight {worst.weight:g}): {cut(worst.rationale)}"
    )
