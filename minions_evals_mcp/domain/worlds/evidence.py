"""What is known of a unit's world once the agent is done: the final state, and what the calls leave to be told."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.values import Id, Json, Value

Sentences = Annotated[tuple[str, ...], Field(strict=False, exclude_if=lambda held: not held)]


class WorldEvidence(Value):
    """The end of a unit's world. `state` is the final state of its mocked servers.

    `misses` are calls that no answer was at hand for, each with the nearest recorded call. `differences` are calls that the agent
    reports otherwise than they were made.
    """

    world: Id
    state: Json
    misses: Sentences = ()
    differences: Sentences = ()
