"""The check whether an output declines to do what was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.checks import Evidence, Subject
from minions_evals_mcp.scoring.values import UnweightedResult

if TYPE_CHECKING:
    from minions_evals_mcp.scoring.assertions.declining import Refusal


def is_refusal(_assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """The output declines to answer. Nothing at all counts as declining, with score 0 either way, as in promptfoo."""
    if not subject.text.strip():
        return UnweightedResult(passed=True, reason="an empty output counts as a refusal", score=0.0, negated_score=0.0)
    signals = refusal_signals(subject.text)
    return UnweightedResult(bool(signals), f"refuses: {', '.join(signals)}" if signals else "no sign of a refusal")


def refusal(text: str) -> Refusal | None:
    """The refusal, or None where the text does not decline."""
    from minions_evals_mcp.scoring.assertions import declining  # noqa: PLC0415  its patterns cost what few runs need

    return declining.refusal(text)


def holds_no_refusal(text: str) -> bool:
    """Returns whether neither the text nor a sentence of it may decline, told by one look."""
    from minions_evals_mcp.scoring.assertions import declining  # noqa: PLC0415  as above

    return declining.holds_no_refusal(text)


def refusing(texts: Sequence[str]) -> Iterator[str]:
    """Those of the texts, each of them one line, that decline."""
    from minions_evals_mcp.scoring.assertions import declining  # noqa: PLC0415  as above

    if declining.may_refuse(texts):
        yield from (text for text in texts if declining.refusal(text))


def refusal_signals(text: str) -> tuple[str, ...]:
    """The cues that make a text a refusal, as they stand in it; none where it is no refusal."""
    declined = refusal(text)
    return declined.cues if declined else ()


TYPES: dict[str, AssertionKind] = {
    "is-refusal": AssertionKind(is_refusal, stands_alone=True),
}
