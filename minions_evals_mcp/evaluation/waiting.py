"""Async work from code that is not: in this thread, or in one of its own where a loop runs here already (a notebook's)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import anyio
from anyio import NoEventLoopError

from minions_evals_mcp.errors import ungrouped
from minions_evals_mcp.evaluation.refusals import told_in_python

T = TypeVar("T")


def waited(work: Callable[[], Awaitable[T]]) -> T:
    """Returns what the work returns; what it raises is told to a Python caller, an error out of a task group as itself."""
    running = partial(_run, work)
    try:
        try:
            anyio.get_current_task()
        except NoEventLoopError:
            return running()
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(running).result()
    except Exception as error:  # noqa: BLE001  raised again, without the frames that are none of the caller's
        raise told_in_python(error) from None


def _run(work: Callable[[], Awaitable[T]]) -> T:
    with ungrouped():
        return anyio.run(work)
