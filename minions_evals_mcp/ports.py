"""The needs from the outside, in our words: one method for each thing that is asked of it today."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Arrived:
    """A JSON text of a neighbour's, and where it came from (`file:line`, or `server/tool`)."""

    text: str
    where: str


class Source(Protocol):
    """Somebody who has agent-runs and prompt versions for us, and is only ever read."""

    async def read(self) -> Sequence[Arrived]:
        """Returns what there is, or what is new since the last call; the same text may come again.

        Raises `InstrumentError` or `OSError` where it may be tried again later.
        """
        ...
