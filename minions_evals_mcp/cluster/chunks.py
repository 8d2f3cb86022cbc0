"""Units that go to a worker together: units that wait for nothing by the hundred, those that call something a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from minions_evals_mcp.engine.run.pipeline import Pages
from minions_evals_mcp.engine.run.units import Bench, Unit

AT_HAND = 500
"""So many units go out together that wait for nothing: recorded outputs judged by rule."""
LIVE = 10
"""So many that call a model or an application."""
HELD = 4 * LIVE
"""So many of these a worker has at the most: what is paid twice where it is lost is among them."""
TOGETHER = 2
"""How often units go out in one chunk; then each by itself, so that the one which takes workers down with it is known."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Units that are to go out together, for the `attempt`-th time."""

    chunk: int
    attempt: int
    units: tuple[Unit, ...]
    is_live: bool


@dataclass(slots=True, eq=False)
class Chunks:
    """The chunks of a run's open units, in order; what comes back undone goes out again before anything new."""

    bench: Bench
    pages: Pages
    number: int
    again: deque[Outgoing] = field(default_factory=deque[Outgoing])
    live: list[Unit] = field(default_factory=list[Unit])
    at_hand: list[Unit] = field(default_factory=list[Unit])
    read: bool = False
    reading: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def are_out(self) -> bool:
        """Returns whether there is nothing left to send."""
        return self.read and not (self.again or self.live or self.at_hand)

    async def next(self) -> Outgoing | None:
        """The next chunk; None where there is nothing now, though something may come back."""
        if self.again:
            return self.again.popleft()
        async with self.reading:
            return await self._read()

    def back(self, outgoing: Outgoing, undone: Sequence[Unit]) -> None:
        """Queues what was not done of a chunk."""
        attempt = outgoing.attempt + 1
        if attempt <= TOGETHER:
            self.again.append(Outgoing(outgoing.chunk, attempt, tuple(undone), outgoing.is_live))
            return
        self.again.extend(Outgoing(self._numbered(), attempt, (unit,), outgoing.is_live) for unit in undone)

    async def _read(self) -> Outgoing | None:
        while not self.read:
            page = await anext(self.pages, None)
            if page is None:
                self.read = True
                break
            is_live = page[0].comes_alone(self.bench)
            units, most = (self.live, LIVE) if is_live else (self.at_hand, AT_HAND)
            units.extend(page)
            if len(units) >= most:
                return self._cut(units, is_live=is_live)
        for units, is_live in ((self.live, True), (self.at_hand, False)):
            if units:
                return self._cut(units, is_live=is_live)
        return None

    def _cut(self, units: list[Unit], *, is_live: bool) -> Outgoing:
        taken = tuple(units)
        units.clear()
        return Outgoing(self._numbered(), 1, taken, is_live)

    def _numbered(self) -> int:
        self.number += 1
        return self.number
