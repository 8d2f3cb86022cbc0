"""Functions that take long to load and then block for a moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

R = TypeVar("R")


class Loaded(Generic[R]):
    """A function of texts, loaded in a thread at its first call, for which the callers wait in order.

    Texts of at most `brief` characters together are worked on at once: a thread would cost more, and mix up the order
    of units that nothing else delays. Longer ones go to a thread.
    """

    def __init__(self, load: Callable[[], Callable[[list[str]], R]], *, brief: int) -> None:
        self._load = load
        self._brief = brief
        self._loading = anyio.Lock()
        self._function: Callable[[list[str]], R] | None = None

    async def __call__(self, texts: Sequence[str]) -> R:
        """Returns what the function says of the texts."""
        async with self._loading:
            if self._function is None:
                self._function = await anyio.to_thread.run_sync(self._load)
        if sum(map(len, texts)) <= self._brief:
            return self._function(list(texts))
        return await anyio.to_thread.run_sync(self._function, list(texts))
