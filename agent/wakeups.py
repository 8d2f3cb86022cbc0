"""The agent's wake-up calls: a commit by any process, or the end of something that it does itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import anyio

from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.operations.engine import Engine

EVERY_S = 0.08
"""How often the store is asked whether somebody has committed."""


@dataclass(slots=True, eq=False)
class Pulse:
    """Counts beats; whoever looked at a count is woken by the next beat, and misses none."""

    count: int = 0
    beaten: anyio.Event = field(default_factory=anyio.Event)

    def beat(self) -> None:
        """Wakes everybody who waits."""
        self.count += 1
        self.beaten.set()
        self.beaten = anyio.Event()

    async def after(self, seen: int, *, timeout_s: float | None = None) -> None:
        """Returns once it has beaten more often than `seen`, or the time is over."""
        with anyio.move_on_after(timeout_s):
            while self.count == seen:
                await self.beaten.wait()


async def follow_store(engine: Engine, pulse: Pulse) -> None:
    """Beats after every commit to the store, whoever made it; that it cannot be read is said by those who look into it."""
    last = -1
    while True:
        with suppress(StoreError):
            version = await engine.store.version()
            if version != last:
                last = version
                pulse.beat()
        await anyio.sleep(EVERY_S)
