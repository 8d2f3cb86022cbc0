"""The limit of calls in flight: less when the provider pushes back, slowly more while it does not."""

from __future__ import annotations

import anyio

CUT = 0.7


class AdaptiveLimit:
    """Places for calls, each held with `async with`: `+1/limit` for a success, `· 0.7` for a push-back; 1 to `most`."""

    def __init__(self, most: int) -> None:
        self._most = float(most)
        self._limit = float(most)
        self._cut_at = float("-inf")
        self._places = anyio.CapacityLimiter(most)

    async def __aenter__(self) -> None:
        """Wait for a place. A free one is taken at once: a turn of the event loop for each call costs 0.1 ms of CPU."""
        try:
            self._places.acquire_nowait()
        except anyio.WouldBlock:
            await self._places.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._places.release()

    @property
    def current(self) -> int:
        """Calls that may be in flight now."""
        return int(self._limit)

    def succeeded(self) -> None:
        """A call was answered."""
        if self._limit < self._most:
            self._set(min(self._most, self._limit + 1 / self._limit))

    def pushed_back(self, *, sent_at: float, now: float) -> None:
        """A call was turned away. One that was sent before the last cut says nothing about the limit since then."""
        if sent_at >= self._cut_at:
            self._cut_at = now
            self._set(max(1.0, self._limit * CUT))

    def _set(self, limit: float) -> None:
        self._limit = limit
        if self._places.total_tokens != int(limit):
            self._places.total_tokens = int(limit)
