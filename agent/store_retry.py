"""A store that cannot be used for a while, for its disk is full or somebody holds it, ends nothing: it is tried again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from agent.daemon import Agent, log
from minions_evals_mcp.errors import StoreError

T = TypeVar("T")


async def surely(agent: Agent, work: Callable[[], Awaitable[T]], *, doing: str) -> T:
    """What the work returned, once the store allowed it; whatever else it raises, it raises.

    A store that stays unusable costs the agent its lease, which ends this too.
    """
    while True:
        try:
            return await work()
        except StoreError as error:
            log.error("store-unusable", doing=doing, error=str(error))
            await anyio.sleep(agent.rhythm.retry_s)
