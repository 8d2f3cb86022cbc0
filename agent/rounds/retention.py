"""Retention: once a day the content that is older than the project's settings allow is erased."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import anyio

from agent.daemon import Agent, log
from agent.store_retry import surely
from minions_evals_mcp.operations.operator import retain

DAY_S = 24 * 60 * 60


async def erase_old(agent: Agent, days: Mapping[str, int], *, once: bool) -> None:
    """Erases now, and each day again unless `once`; nothing where the settings name no days."""
    while days:
        erased = await surely(agent, partial(retain.run, agent.engine, days, by="agent"), doing="retention")
        if erased.total or erased.sealed:
            log.info("old-content-erased", rows=erased.total)
        if once:
            return
        await anyio.sleep(DAY_S)
