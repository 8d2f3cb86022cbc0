"""The finding that is the cause: its own weight, whether its step flows on into the answer or into a later fault, and how early it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minions_evals_mcp.scoring.failures.failed import FailedOutput, Signal
from minions_evals_mcp.scoring.failures.log.answers import (
    claimed_results,
    contradicted_results,
    empty_results,
    passed_over,
    unused_results,
)
from minions_evals_mcp.scoring.failures.log.arguments import (
    placeholders,
    swapped_roles,
    unwanted_arguments,
    wrong_arguments,
)
from minions_evals_mcp.scoring.failures.log.delegation import delegated_faults, is_delegated
from minions_evals_mcp.scoring.failures.log.entities import stale_values, swapped_entities
from minions_evals_mcp.scoring.failures.log.errors import unresolved_errors
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.first_places import FirstPlaces
from minions_evals_mcp.scoring.failures.log.kinds import folded
from minions_evals_mcp.scoring.failures.log.loops import loops
from minions_evals_mcp.scoring.failures.log.reading import Log
from minions_evals_mcp.scoring.failures.log.tools import astray, missing_steps, needed_call
from minions_evals_mcp.scoring.failures.texts import leaves

LIKELY_FROM = 0.5
"""The confidence from which a finding may be the cause."""
UPSTREAM, REACHES, EARLIER, BEREFT = 0.25, 0.06, 0.01, 0.3
_TELLING = 4
"""Characters from which a text tells where it came from."""


def most_likely(failed: FailedOutput, signals: Sequence[Signal]) -> Finding | None:
    """The finding that most likely began the failure; None where the log shows none."""
    log = Log(failed)
    likely = [finding for finding in findings(log, signals) if finding.confidence >= LIKELY_FROM]
    flow = flows(log)
    return max(likely, key=lambda finding: _weight(finding, likely, flow), default=None)


def findings(log: Log, signals: Sequence[Signal]) -> Iterator[Finding]:
    """All that the checks of a log find; of two that weigh the same the first is the cause."""
    if is_delegated(log):
        yield from unresolved_errors(log)
        yield from delegated_faults(log)
        return
    yield from unwanted_arguments(log)
    yield from wrong_arguments(log)
    yield from swapped_roles(log)
    yield from swapped_entities(log)
    yield from stale_values(log)
    yield from placeholders(log)
    yield from unresolved_errors(log)
    yield from loops(log)
    yield from astray(log)
    yield from missing_steps(log)
    yield from needed_call(log)
    yield from unused_results(log)
    yield from contradicted_results(log)
    yield from empty_results(log, signals)
    yield from claimed_results(log, signals)
    yield from passed_over(log)


def flows(log: Log) -> dict[int, set[int]]:
    """Of each step the later steps that a value of its result or of its arguments went into; the answer is the step after the last."""
    last = len(log.steps)
    after: dict[int, set[int]] = {}
    sinks = FirstPlaces([folded(step.arguments) for step in log.steps])
    for place, step in enumerate(log.steps):
        telling = {text for _, leaf in leaves(step.result) if (text := folded(leaf)) and _tells(text)}
        telling = {text for text in telling if text not in log.asked_text}
        went = {later for text in telling for later in sinks.places_of(text) if place < later < last}
        if any(text in log.answer for text in telling):
            went.add(last)
        after[place] = went
    return after


def reached(place: int, flow: dict[int, set[int]]) -> set[int]:
    """All that a step flows into, directly or through others."""
    seen: set[int] = set()
    pending = [place]
    while pending:
        for later in flow.get(pending.pop(), ()):
            if later not in seen:
                seen.add(later)
                pending.append(later)
    return seen


def _weight(finding: Finding, findings_so_far: Sequence[Finding], flow: dict[int, set[int]]) -> float:
    if finding.place is None:
        return finding.confidence
    later = reached(finding.place, flow)
    faulty = {other.place for other in findings_so_far if other is not finding}
    ends = max(flow, default=-1) + 1
    # What an argument should have been told is lost with the step that failed before it.
    lost = BEREFT * (
        finding.kind == "argument"
        and any(other.kind == "error" and (other.place or 0) < finding.place for other in findings_so_far)
    )
    earliest = EARLIER * (1 - finding.place / (len(flow) or 1))
    # A fault that another one flows from, or that the answer rests on, is nearer to the root than one that leads nowhere.
    return finding.confidence - lost + UPSTREAM * bool(later & faulty) + REACHES * (ends in later) + earliest


def _tells(text: str) -> bool:
    return len(text) >= _TELLING or (text.isdigit() and len(text) > 1)
