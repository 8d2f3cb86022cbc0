"""Runs async work for a synchronous caller, on an event loop that is kept for the next call.

A client that a task keeps at module level (an `AsyncOpenAI`, an `httpx.AsyncClient`) pools connections that belong to the
loop on which they were opened. A new loop for each call would leave it with connections of a closed one.
"""

from __future__ import annotations

import asyncio  # noqa: TID251  anyio has no runner that can be used twice
import atexit
import os
from collections.abc import Awaitable, Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

import anyio
from anyio import NoEventLoopError

from minions_evals_mcp.errors import ungrouped
from minions_evals_mcp.evaluation.refusals import told_in_python

T = TypeVar("T")


class _Runners:
    """Runners that wait for work. Calls in turn share one; a call within a call, or beside one, takes another."""

    def __init__(self) -> None:
        self._idle: list[asyncio.Runner] = []

    @contextmanager
    def borrowed(self) -> Generator[asyncio.Runner]:
        """A runner for one call."""
        # Without a factory, a runner makes its loop the current one of the thread that it first ran in.
        runner = self._idle.pop() if self._idle else asyncio.Runner(loop_factory=asyncio.new_event_loop)
        try:
            yield runner
        except Exception:
            self._idle.append(runner)
            raise
        except BaseException:  # an interrupt broke the loop off
            _end(runner)
            raise
        else:
            self._idle.append(runner)

    def close(self) -> None:
        """Closes the loops; tasks that a caller's code left on them are cancelled."""
        while self._idle:
            self._idle.pop().close()

    def forget(self) -> None:
        """Drops the loops without closing them: in a forked child they are the parent's."""
        self._idle = []


def _end(runner: asyncio.Runner) -> None:
    """Cancels the work that is under way and closes the loop.

    An interrupt that a task raises breaks the loop off each time a task passes it on. The loop goes on all the same, for its
    worker threads end when their task does, and a process waits for them at its exit.
    """
    loop = runner.get_loop()
    for _ in range(len(asyncio.all_tasks(loop)) + 1):
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_until_complete(_ends_of(left))
            break
    runner.close()


async def _ends_of(tasks: Iterable[asyncio.Task[object]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)


_RUNNERS = _Runners()
atexit.register(_RUNNERS.close)
os.register_at_fork(after_in_child=_RUNNERS.forget)


def run_sync(work: Callable[[], Awaitable[T]]) -> T:
    """Result of the work. What it raises reads as a Python caller expects, an error out of a task group as itself.

    Where a loop runs in this thread already (a notebook's), the work runs in another thread meanwhile.
    """
    running = partial(_run, work)
    try:
        try:
            anyio.get_current_task()
        except NoEventLoopError:
            return running()
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(running).result()
    except Exception as error:  # noqa: BLE001  raised again, without the frames of ours
        raise told_in_python(error) from None


def _run(work: Callable[[], Awaitable[T]]) -> T:
    with _RUNNERS.borrowed() as runner:
        return runner.run(_awaited(work))


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    with ungrouped():
        return await work()
