"""What is needed of the outside, in our words: one method for each thing that is asked of it today."""

from __future__ import annotations

from typing import Protocol

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record


class Neighbour(Protocol):
    """Somebody to whom queued records are told: tasks, agent-messages, approval-requests, memory-items."""

    async def tell(self, record: Record[Fields], *, key: str, addressee: str) -> None:
        """Takes the record over. It may come again under the same key, and must then change nothing.

        Raises `InstrumentError` or `OSError` where it may be tried again later, `BadInputError` where it is refused for good.
        """
        ...
