"""Looks for races: runs tests with random delays where tasks, threads and processes may overtake each other.

    .venv/bin/python .ci/chaos.py SEED tests/agent tests/cluster -n 2     # any argument of pytest after the seed

Delayed are reads and writes of the store (before, within and after), tasks that the product starts, its threads and its
processes; commands that a standby forks are, too. Threads change places more often, memory is collected after each test,
so that what was left open is said by its own test. A failure here that the plain run does not have is a race, or a test
that counts on seconds. `CHAOS_SCALE=3` makes all delays three times as long.
"""

from __future__ import annotations

import gc
import os
import random
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio._backends._asyncio import TaskGroup

from minions_evals_mcp.store import connection, database

SEED = os.environ.get("CHAOS_SEED", "")  # noqa: TID251  pytest's workers have it from there
SCALE = float(os.environ.get("CHAOS_SCALE", "1"))  # noqa: TID251  the same
OWN = ("minions_evals_mcp", "agent")
STANDBY = [sys.executable, "-m", "tests.shared.cli.standby"]
CHANCE = random.Random(SEED)  # noqa: S311  delays, no secret


def pause() -> float:
    """None six times of ten, else some milliseconds; once in 250 times long enough for anybody to come between."""
    drawn = CHANCE.random()
    if drawn < 0.6:
        return 0
    most = 0.005 if drawn < 0.9 else 0.03 if drawn < 0.996 else 0.3
    return CHANCE.random() * most * SCALE


def between(work: Callable[..., Any]) -> Callable[..., Any]:
    """The function, delayed before and after."""

    def slowly(*given: Any, **options: Any) -> Any:
        time.sleep(pause())
        result = work(*given, **options)
        time.sleep(pause())
        return result

    return slowly


def between_awaits(work: Callable[..., Any]) -> Callable[..., Any]:
    """The coroutine function, delayed before and after."""

    async def slowly(*given: Any, **options: Any) -> Any:
        await anyio.sleep(pause())
        result = await work(*given, **options)
        await anyio.sleep(pause())
        return result

    return slowly


def install() -> None:
    """Puts the delays in place, in this process."""
    connected_run, threaded, started = connection.Connection.run, anyio.to_thread.run_sync, TaskGroup.start_soon
    begun = subprocess.Popen.__init__

    async def run(self: connection.Connection, work: Callable[[Any], Any]) -> Any:
        return await connected_run(self, between(work))

    async def run_sync(work: Callable[..., Any], *given: Any, **options: Any) -> Any:
        return await threaded(between(work), *given, **options)

    def start_soon(self: TaskGroup, work: Callable[..., Any], *given: Any, name: object = None) -> None:
        own = sys._getframe(1).f_globals.get("__name__", "").startswith(OWN)  # noqa: SLF001  who starts it
        started(self, late(work) if own else work, *given, name=name or getattr(work, "__qualname__", None))

    def popen(self: subprocess.Popen[Any], args: Any, *given: Any, **options: Any) -> None:
        args = [sys.executable, __file__, *args[2:]] if isinstance(args, list) and args[:3] == STANDBY else args
        between(begun)(self, args, *given, **options)

    connection.Connection.run = between_awaits(run)
    database.Store.write = between_awaits(database.Store.write)
    database.is_anything_sealed = between(database.is_anything_sealed)
    database._run_all = between(database._run_all)  # noqa: SLF001  the writer's transaction
    anyio.to_thread.run_sync = run_sync
    anyio.open_process = between_awaits(anyio.open_process)
    TaskGroup.start_soon = start_soon
    subprocess.Popen.__init__ = popen
    os.register_at_fork(after_in_child=lambda: CHANCE.seed(f"{SEED} {os.getpid()}"))
    sys.setswitchinterval(1e-5)


def late(work: Callable[..., Any]) -> Callable[..., Any]:
    """The coroutine function, begun later; a cancellation meets it where it would have met it."""

    async def begun_late(*given: Any) -> Any:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(pause())
        return await work(*given)

    return begun_late


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Gives a test the same draws whichever tests ran before it."""
    CHANCE.seed(f"{SEED} {item.nodeid}")


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown() -> Generator[None]:
    """Collects what the test left, as its own warning."""
    try:
        return (yield)
    finally:
        gc.collect()


def main() -> None:
    """Becomes pytest with this module as a plugin, or (asked for by `install`) a standby with the delays in place."""
    first, *rest = sys.argv[1:]
    if first == STANDBY[2]:
        install()
        sys.argv, sys.path[0] = [first, *rest], str(Path.cwd())
        runpy.run_module(first, run_name="__main__", alter_sys=True)
    else:
        environment = {**os.environ, "CHAOS_SEED": first, "PYTHONPATH": str(Path(__file__).parent)}  # noqa: TID251  for pytest
        command = [sys.executable, "-m", "pytest", "-q", "-p", "chaos", "-p", "no:cacheprovider", *rest]
        os.execve(sys.executable, command, environment)  # noqa: S606  our own


if __name__ == "__main__":
    main()
elif SEED:
    install()
