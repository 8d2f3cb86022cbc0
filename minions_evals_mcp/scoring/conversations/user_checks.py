"""What the player of a user did wrong, by rules: pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from minions_evals_mcp.domain.conversations import Conversation, Ending, Turn, UserFault


def user_faults(
    setup: Conversation, turns: Sequence[Turn], ended: Ending | None = None, *, tools: Collection[str] = ()
) -> tuple[UserFault, ...]:
    """The faults of the user in those turns, in order."""
    del setup, turns, ended, tools
    return ()
