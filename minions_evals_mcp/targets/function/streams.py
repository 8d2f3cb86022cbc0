"""Generators in the way of an evaluation: followed while a caller takes their items, or collected into a list."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, ExitStack
from types import AsyncGeneratorType, GeneratorType, TracebackType
from typing import cast

import anyio
import anyio.to_thread

Note = Callable[[object], object]
"""What is told each item."""
Ending = AbstractContextManager[object]
"""What is left, without having been entered here, when a generator ends."""


def is_stream(value: object) -> bool:
    """Returns whether the value is a generator, sync or async: whoever reads it takes its items away."""
    return isinstance(value, (GeneratorType, AsyncGeneratorType))


def followed(stream: object, note: Note, ending: Ending) -> object:
    """A generator that does as the stream does, for whoever sends, throws and closes, too."""
    if isinstance(stream, GeneratorType):
        return _followed(cast("Generator[object, object, object]", stream), note, ending)
    return _followed_async(cast("AsyncGenerator[object, object]", stream), note, ending)


async def collected(value: object, limiter: anyio.CapacityLimiter) -> object:
    """The items of a generator, a sync one's taken in a thread of this context; any other value as it is."""
    if isinstance(value, AsyncGeneratorType):
        return [item async for item in cast("AsyncGenerator[object]", value)]
    if isinstance(value, GeneratorType):
        stream = cast("Generator[object]", value)
        return await anyio.to_thread.run_sync(lambda: list(stream), abandon_on_cancel=True, limiter=limiter)
    return value


class _Noted(Generator[object, object, object]):
    """A generator of which each item is noted on its way."""

    def __init__(self, stream: Generator[object, object, object], note: Note) -> None:
        self._stream, self._note = stream, note

    def send(self, value: object, /) -> object:
        item = self._stream.send(value)
        self._note(item)
        return item

    def throw(self, typ: object, val: object = None, tb: TracebackType | None = None, /) -> object:
        del tb
        item = self._stream.throw(cast("BaseException", typ if val is None else val))
        self._note(item)
        return item

    def close(self) -> None:
        self._stream.close()


def _followed(
    stream: Generator[object, object, object], note: Note, ending: Ending
) -> Generator[object, object, object]:
    with ExitStack() as stack:
        stack.push(ending)
        return (yield from _Noted(stream, note))


async def _followed_async(
    stream: AsyncGenerator[object, object], note: Note, ending: Ending
) -> AsyncGenerator[object, object]:
    with ExitStack() as stack:
        stack.push(ending)
        next_item = stream.asend(None)
        while True:
            try:
                item = await next_item
            except StopAsyncIteration:
                return
            note(item)
            try:
                next_item = stream.asend((yield item))
            except GeneratorExit:
                await stream.aclose()
                raise
            except BaseException as thrown:  # noqa: BLE001  the caller throws it into the generator
                next_item = stream.athrow(thrown)
