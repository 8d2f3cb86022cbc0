"""One thing that is wrong in a log."""

from __future__ import annotations

from minions_evals_mcp.frozen_types import frozen_type

LIKELY, SURE = 0.6, 0.8


@frozen_type
class Finding:
    """The fault, at which step (from 0; None where no step is to blame), in words that quote it.

    `confidence` (0 to 1) is how often a finding of its kind is the cause.
    """

    kind: str
    place: int | None
    said: str
    confidence: float

    @property
    def sentence(self) -> str:
        """The finding and how sure it is."""
        return f"{self.said} ({how_sure(self.confidence)}, {self.confidence:.2f})"


def how_sure(confidence: float) -> str:
    """The confidence in a word."""
    if confidence >= SURE:
        return "very likely"
    return "likely" if confidence >= LIKELY else "possible"
