"""A store that cannot be used for a while, for its disk is full or somebody holds it, ends nothing: it is tried again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from agent.daemon import Agent, log
from minions_evals_mcp.errors import StoreError

T = TypeVar("T")


LONGEST_WAIT_S = 30.0


async def surely(agent: Agent, work: Callable[[], Awaitable[T]], *, doing: str) -> T:
    """Returns what the work returned, once the store allowed it, tried at growing distances; whatever else it raises, it raises."""
    wait_s = agent.rhythm.retry_s
    while True:
        try:
            return await work()
        except StoreError as error:
            log.error("store-unusable", doing=doing, error=str(error))
            await anyio.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
