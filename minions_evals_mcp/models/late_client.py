"""A client that is made at its first call: importing an SDK takes a second or two, which nobody pays who only asks the price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import anyio
import anyio.to_thread

from minions_evals_mcp.models import prices
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.replies import FaultKind, Reply
from minions_evals_mcp.models.request import ModelRequest


class LateClient:
    """A `ModelClient` in place of the one that `make` gives, beside the event loop: others are answered meanwhile."""

    def __init__(self, provider: str, make: Callable[[], ModelClient]) -> None:
        self.provider = provider
        self._make = make
        self._made: ModelClient | None = None
        self._making = anyio.Lock()

    @property
    def fault_counts(self) -> Counter[FaultKind]:
        """The client's faults so far; none where it was never called."""
        return Counter() if self._made is None else self._made.fault_counts

    async def ready(self) -> None:
        """Makes the client now: a caller who measures several side by side does not have one made beside another's answer."""
        await self._opened()

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """The client's reply; the time that making the client takes is no part of a deadline or a latency."""
        client = self._made or await self._opened()
        return await client.complete(request, deadline_s=deadline_s)

    async def aclose(self) -> None:
        """Closes the client, where one was made."""
        if self._made is not None:
            await self._made.aclose()

    async def _opened(self) -> ModelClient:
        async with self._making:
            if self._made is None:
                self._made = await anyio.to_thread.run_sync(self._ready)
            return self._made

    def _ready(self) -> ModelClient:
        prices.load()
        return self._make()
