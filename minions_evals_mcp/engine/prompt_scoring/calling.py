"""Calling a user's function, sync or async, without blocking the loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

import anyio.to_thread


async def answered(function: Callable[..., object], *args: object, **named: object) -> object:
    """Returns what the function returned; a sync one runs in a thread, which a cancelled caller does not wait for."""
    call = partial(function, *args, **named)
    if inspect.iscoroutinefunction(function):
        return await cast("Awaitable[object]", call())
    answer = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
    return await answer if inspect.isawaitable(answer) else answer  # a callable object, or a lambda around one
