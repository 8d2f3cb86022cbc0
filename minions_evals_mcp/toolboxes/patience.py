"""How often a neighbour may refuse a record before it is taken at its word."""

from __future__ import annotations

from minions_evals_mcp.errors import BadInputError, InstrumentError


class Patience:
    """Counts the errors in a row of each record: nothing tells a neighbour that is down from one that will never take it."""

    def __init__(self, times: int) -> None:
        self._times = times
        self._errors: dict[str, int] = {}

    def taken(self, key: str) -> None:
        """Forgets the errors of a record that was taken over."""
        self._errors.pop(key, None)

    def refused(self, key: str, reason: str) -> InstrumentError | BadInputError:
        """The error to raise: one that may be tried again, or a refusal for good at the last of those times."""
        self._errors[key] = self._errors.get(key, 0) + 1
        if self._errors[key] < self._times:
            return InstrumentError(reason)
        return BadInputError(f"{reason} ({self._errors.pop(key)} times)")
