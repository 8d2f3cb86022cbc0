"""Checks that a failed trace fails and a right answer passes, each tried on both before it is proposed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import parsed
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.checks import Aggregate, Subject
from minions_evals_mcp.scoring.conversations.languages import own_words
from minions_evals_mcp.scoring.discovery.readings import Trace, TraceReading
from minions_evals_mcp.scoring.failures.log.arguments import placeholders
from minions_evals_mcp.scoring.failures.log.loops import OFTEN
from minions_evals_mcp.scoring.failures.log.reading import Log
from minions_evals_mcp.scoring.failures.texts import leaves
from minions_evals_mcp.scoring.patterns import PATTERN_LIMIT
from minions_evals_mcp.scoring.verdicts.examination import OutputChecks
from minions_evals_mcp.scoring.verdicts.separating_checks import separating_checks

MOST_CONTROLS = 40
"""A check is tried on so many traces in which nothing went wrong."""
LEAST_ALIKE = 3
"""What so many sound traces have in common is taken for what a right one has."""
_SENTENCE = re.compile(r"[^.!?\n]+")
_WORD = re.compile(r"\w+")
_CLAIMED = 60
_ALIKE = 0.5
"""Requests that share this much of their words ask for the same kind of thing."""


@frozen_type
class ProposedChecks:
    """The checks of a case. `fails_trace`, `passes_corrected`: how they did when they were tried; None where nothing was there to try.

    `controls` traces without a failure pass them. `only_this`: they bar this very answer, and a paraphrase of it would pass.
    """

    assertions: tuple[Assertion, ...]
    fails_trace: bool
    passes_corrected: bool | None
    controls: int
    only_this: bool = False


def passed(assertions: Sequence[Assertion], trace: Trace) -> bool | None:
    """Whether the trace passes all checks; None where one of them cannot be carried out on it."""
    value = parsed(trace.text.strip())
    subject = Subject(
        trace.text, tool_calls=trace.steps if trace.has_log else None, finish_reason=trace.stop_reason,
        value=value if isinstance(value, dict | list) else None,
    )  # fmt: skip
    result = OutputChecks(assertions, subject).answer()
    return result.passed if isinstance(result, Aggregate) else None


def proposed(
    reading: TraceReading, trace: Trace, corrected: Trace | None, controls: Sequence[Trace]
) -> ProposedChecks | None:
    """The first checks that the trace fails, the corrected one and all controls pass; None where nothing does."""
    sound = _comparable(reading, controls)[:MOST_CONTROLS]
    for checks in (*_of_claim(reading, trace, controls), *_candidates(reading, trace, corrected)):
        if passed(checks, trace) is not False or (corrected is not None and passed(checks, corrected) is not True):
            continue
        is_general = _is_general(checks) and reading.code != "claimed-without-call"
        if is_general and not all(passed(checks, control) is True for control in sound):
            continue
        only_this = all(check.type in ("not-equals", "not-icontains") for check in checks)
        return ProposedChecks(
            checks, fails_trace=True, passes_corrected=None if corrected is None else True,
            controls=len(sound) if is_general else 0, only_this=only_this,
        )  # fmt: skip
    return None


def _comparable(reading: TraceReading, controls: Sequence[Trace]) -> Sequence[Trace]:
    """The traces that a check of that kind has to let pass: where a tool failed, those that used it."""
    if reading.code != "tool-error":
        return controls
    return [control for control in controls if any(step.tool == reading.quote for step in control.steps)]


_GENERAL = frozenset(("not-is-refusal", "not-finish-reason", "trajectory:step-count", "not-trajectory:tool-args-match"))


def _is_general(checks: Sequence[Assertion]) -> bool:
    """Whether the checks say nothing of this request, so that every right answer has to pass them."""
    return all(check.type in _GENERAL for check in checks)


def _of_claim(reading: TraceReading, trace: Trace, controls: Sequence[Trace]) -> Iterator[tuple[Assertion, ...]]:
    """That the tool is called which every sound trace with such a claim or request called; else that anything is."""
    if reading.code != "claimed-without-call" or not reading.about:
        return
    same_deed = [other for other in controls if reading.about in other.text.casefold()]
    others = same_deed if len(same_deed) >= LEAST_ALIKE else [*_that_ask_alike(trace, controls)]
    alike = [frozenset(step.tool for step in other.steps) for other in others]
    called = {step.tool for step in trace.steps}
    common = {tool for tools in alike for tool in tools if all(tool in other for other in alike)}
    if len(alike) >= LEAST_ALIKE and common - called:
        yield tuple(Assertion(type="trajectory:tool-used", value=tool) for tool in sorted(common - called))
    if trace.has_log and not called:
        yield (Assertion(type="trajectory:step-count", value={"min": 1}),)


def _that_ask_alike(trace: Trace, others: Sequence[Trace]) -> Iterator[Trace]:
    asked = _words(trace)
    return (other for other in others if _overlap(asked, _words(other)) >= _ALIKE)


def _words(trace: Trace) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(trace.asked.casefold()) if not any(map(str.isdigit, word)))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of all their words that both have."""
    return len(one & other) / len(one | other) if one | other else 0.0


def _candidates(reading: TraceReading, trace: Trace, corrected: Trace | None) -> Iterator[tuple[Assertion, ...]]:
    yield from _of_kind(reading, trace)
    if corrected is not None and corrected.text.strip() != trace.text.strip():
        yield separating_checks(trace.text, corrected.text)
    if reading.quote and reading.quote in trace.text:
        yield (Assertion(type="not-icontains", value=reading.quote),)
    sentence = next((match[0].strip() for match in _SENTENCE.finditer(trace.text) if len(match[0]) > 20), "")
    if sentence:
        yield (Assertion(type="not-icontains", value=sentence[:_CLAIMED]),)
    if trace.text:
        yield (Assertion(type="not-equals", value=trace.text),)


def _of_kind(reading: TraceReading, trace: Trace) -> Iterator[tuple[Assertion, ...]]:
    """What checks exactly that this does not happen."""
    match reading.code:
        case "empty-answer" | "run-failed":
            yield (Assertion(type="regex", value=r"\S"),)
        case "cut-off" if trace.stop_reason:
            yield (Assertion(type="not-finish-reason", value=trace.stop_reason),)
        case "refusal":
            yield (Assertion(type="not-is-refusal"),)
        case "wrong-format":
            yield (Assertion(type="is-json"),)
        case "tool-error" if reading.quote:
            yield (Assertion(type="trajectory:step-count", value={"name": reading.quote, "failed": False, "min": 1}),)
        case "loop":
            yield (Assertion(type="trajectory:step-count", value={"name": reading.quote, "max": OFTEN - 1}),)
        case "placeholder-argument":
            yield from _without_placeholder(reading, trace)
        case "wrong-language":
            words = own_words(reading.quote)
            pattern = rf"(?i)\b(?:{'|'.join(map(re.escape, words))})\b"
            if words and len(pattern) <= PATTERN_LIMIT:
                yield (Assertion(type="regex", value=pattern),)
        case _:
            pass


def _without_placeholder(reading: TraceReading, trace: Trace) -> Iterator[tuple[Assertion, ...]]:
    finding = next(placeholders(Log(trace.failed())), None)
    if finding is None or finding.place is None:
        return
    for path, value in leaves(trace.steps[finding.place].arguments):
        if isinstance(value, str) and value in finding.said:
            asked: Json = {"name": reading.quote, "args": {path: value}}
            yield (Assertion(type="not-trajectory:tool-args-match", value=asked),)
