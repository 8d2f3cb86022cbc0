"""The user as a script plays it: no model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.conversations import Conversation, PlayerCost, Turn
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.conversations.script import next_message
from minions_evals_mcp.targets.talks.talk import Leaves, Says


@frozen_type
class ScriptedUser:
    """Says what the script of the conversation says."""

    setup: Conversation

    @property
    def cost(self) -> PlayerCost:
        """A script costs nothing."""
        return PlayerCost()

    async def next_move(self, turns: Sequence[Turn], messages: Sequence[Json]) -> Says | Leaves:
        """The next message of the script; it leaves where there is none."""
        del messages
        text = next_message(self.setup, turns)
        return Leaves("script") if text is None else Says(text)
