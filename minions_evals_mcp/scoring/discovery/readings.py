"""What went wrong in a production trace, as rules read it, and as a reader says it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.classification.refusals import refusal_signals
from minions_evals_mcp.scoring.conversations.languages import language_of
from minions_evals_mcp.scoring.failures.cut_off import cut_off_json
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.formats import format_signals
from minions_evals_mcp.scoring.failures.grounding import hallucination_signals
from minions_evals_mcp.scoring.failures.log.answers import contradicted_results
from minions_evals_mcp.scoring.failures.log.arguments import placeholders
from minions_evals_mcp.scoring.failures.log.errors import error_of, unresolved_errors
from minions_evals_mcp.scoring.failures.log.loops import loops
from minions_evals_mcp.scoring.failures.log.reading import Log
from minions_evals_mcp.scoring.failures.texts import flat, leaves

_CUT_REASONS = frozenset(("length", "max_tokens", "max_output_tokens", "max-tokens"))
_ASKS_JSON = re.compile(r"\bjson\b", re.IGNORECASE)
_NUMBERS = re.compile(r"\d[\d.,:/-]*|['\"“][^'\"”]{1,80}['\"”]")


@frozen_type
class Trace:
    """A production trace without its personal data. `corrections` are messages of the user that take back what was done."""

    id: str
    inputs: Json
    output: Json
    steps: tuple[ToolCall, ...] = ()
    has_log: bool = False
    error: str | None = None
    stop_reason: str | None = None
    corrections: tuple[str, ...] = ()
    verdict: str = ""
    """Why the newest verdict on it failed it; empty where none did."""

    @property
    def asked(self) -> str:
        """What the user asked, as a text."""
        texts = [leaf for _, leaf in leaves(self.inputs) if isinstance(leaf, str)]
        return "\n".join(texts) or flat(self.inputs)

    @property
    def text(self) -> str:
        """What the agent answered, as a text."""
        return output_text(self.output) if self.output else ""

    def failed(self) -> FailedOutput:
        """The trace as what finds failures reads it."""
        return FailedOutput(
            output=self.output, text=self.text, inputs=self.inputs, expected=None, tool_calls=self.steps,
            has_log=self.has_log, timed_out=False, stop_reason=self.stop_reason, wants_json=bool(_ASKS_JSON.search(self.asked)),
            agent_error=self.error, score_fraction=0.0, criteria=(),
        )  # fmt: skip


@frozen_type
class TraceReading:
    """A failure: its `code`, `about` what (a tool, a deed, a language), what happened, and the right answer where it is known.

    Readings of one code about the same thing are of one kind.
    """

    trace_id: str
    code: str
    about: str = ""
    what: str = ""
    quote: str = ""
    corrected: str | None = None
    labels: dict[str, str] = field(default_factory=dict[str, str])


def read_by_rules(trace: Trace) -> TraceReading | None:
    """The first thing that rules are sure is wrong with a trace; None where they find nothing."""
    return next((reading for rule in RULES for reading in rule(trace)), None)


def _ended_in_error(trace: Trace) -> Iterator[TraceReading]:
    if trace.error:
        yield TraceReading(trace.id, "run-failed", template(trace.error), f"The run failed: {trace.error}")


def _empty(trace: Trace) -> Iterator[TraceReading]:
    if not trace.text.strip():
        yield TraceReading(trace.id, "empty-answer", what="The agent answered nothing.")


def _cut_off(trace: Trace) -> Iterator[TraceReading]:
    reason = (trace.stop_reason or "").casefold()
    if reason in _CUT_REASONS or cut_off_json(trace.text):
        yield TraceReading(trace.id, "cut-off", what="The answer was cut off.", quote=trace.text[-60:])


def _tool_error(trace: Trace) -> Iterator[TraceReading]:
    for finding in unresolved_errors(Log(trace.failed())):
        step = trace.steps[finding.place or 0]
        about = f"{step.tool}: {template(error_of(step) or '')}"
        yield TraceReading(trace.id, "tool-error", about, finding.said, quote=step.tool)


def _loop(trace: Trace) -> Iterator[TraceReading]:
    for finding in loops(Log(trace.failed())):
        tool = trace.steps[finding.place or 0].tool
        yield TraceReading(trace.id, "loop", tool, finding.said, quote=tool)


def _refusal(trace: Trace) -> Iterator[TraceReading]:
    signal = next((signal for signal in refusal_signals(trace.failed()) if signal.decides), None)
    if signal is not None:
        yield TraceReading(trace.id, "refusal", what=f"The agent refused: {signal.detail}", quote=signal.detail)


def _format(trace: Trace) -> Iterator[TraceReading]:
    signal = next((signal for signal in format_signals(trace.failed()) if signal.decides), None)
    if signal is not None:
        yield TraceReading(trace.id, "wrong-format", signal.kind, f"The answer has the wrong form: {signal.detail}")


def _placeholder(trace: Trace) -> Iterator[TraceReading]:
    for finding in placeholders(Log(trace.failed())):
        tool = trace.steps[finding.place or 0].tool
        yield TraceReading(trace.id, "placeholder-argument", tool, finding.said, quote=tool)


def _claim(trace: Trace) -> Iterator[TraceReading]:
    if not trace.has_log:
        return
    signals = (signal for signal in hallucination_signals(trace.failed()) if signal.kind == "claim")
    for signal in signals:
        what = f"The answer says “{signal.detail}”, and no call did so."
        yield TraceReading(trace.id, "claimed-without-call", _deed(signal.detail), what, quote=signal.detail)


def _contradiction(trace: Trace) -> Iterator[TraceReading]:
    for finding in contradicted_results(Log(trace.failed())):
        tool = trace.steps[finding.place or 0].tool
        yield TraceReading(trace.id, "contradicts-result", tool, finding.said)


def _language(trace: Trace) -> Iterator[TraceReading]:
    asked, answered = language_of(trace.asked), language_of(trace.text)
    if asked and answered and asked != answered:
        what = f"Asked in {asked}, answered in {answered}."
        yield TraceReading(trace.id, "wrong-language", f"{asked}→{answered}", what, quote=asked)


def _corrected_by_user(trace: Trace) -> Iterator[TraceReading]:
    if trace.corrections:
        yield TraceReading(trace.id, "user-corrected", what=f"The user took it back: {trace.corrections[0]}")


def _verdict(trace: Trace) -> Iterator[TraceReading]:
    if trace.verdict:
        yield TraceReading(trace.id, "failed-verdict", template(trace.verdict), trace.verdict)


RULES: tuple[Callable[[Trace], Iterator[TraceReading]], ...] = (
    _ended_in_error, _empty, _cut_off, _loop, _tool_error, _refusal, _format, _placeholder, _claim, _contradiction, _language,
    _corrected_by_user, _verdict,
)  # fmt: skip
"""What is looked for, the surest first."""


def template(text: str) -> str:
    """The text without what differs from one trace to the next: numbers and quoted words."""
    return " ".join(_NUMBERS.sub("…", text).split())[:120]


def _deed(claim: str) -> str:
    """The verb of a claim, in its ground form as far as that is told."""
    words = re.findall(r"[^\W\d_]+", claim.casefold())
    return next((word for word in reversed(words) if word.endswith(("ed", "t", "n", "é", "ée", "do", "to"))), "")
