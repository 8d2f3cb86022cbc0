"""The user as somebody outside plays it: the agent that asked for the run, or a person. Each message is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minions_evals_mcp.domain.conversations import Conversation, NextMessage, PlayerCost, Turn
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.targets.talks.talk import Leaves, Says, Waits


@dataclass(slots=True, eq=False)
class OutsideUser:
    """Says what was handed in, once; before and after that the conversation waits."""

    setup: Conversation
    handed_in: NextMessage | None = None

    @property
    def cost(self) -> PlayerCost:
        """What it costs is not ours to know."""
        return PlayerCost()

    async def next_move(self, turns: Sequence[Turn], messages: Sequence[Json]) -> Says | Leaves | Waits:
        """The opening where it is fixed, else the message that was handed in for this turn; an empty one means that the user leaves."""
        del messages
        if not turns and self.setup.opening is not None:
            return Says(self.setup.opening)
        given, self.handed_in = self.handed_in, None
        if given is None or given.turn != len(turns) + 1:
            return Waits()
        return Says(given.text) if given.text else Leaves("user")
