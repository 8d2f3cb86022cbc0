"""A dask cluster inside the test's own process: a real scheduler, and workers that cost no start; some may be processes."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from distributed import Scheduler, Worker
from distributed.security import Security

from tests.cluster.crowd import begun, ended, worker_command
from tests.cluster.naps import Naps


@dataclass(slots=True, eq=False)
class Inside:
    """A scheduler, and how workers come to it."""

    scheduler: Any  # dask's, untyped in what is asked of it here
    folder: Path
    stack: AsyncExitStack
    security: Security | None = None
    naps: Naps = field(init=False)
    """What `napping` is called for by workers that are told of it."""

    def __post_init__(self) -> None:
        """The workers note their calls beside their logs."""
        self.naps = Naps(self.folder)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return self.scheduler.address

    @property
    def worker(self) -> str:
        """The address of the only worker."""
        (address,) = self.scheduler.workers
        return address

    async def hire(self, count: int = 1) -> None:
        """Starts workers in this process."""
        for _ in range(count):
            worker = Worker(
                self.address,
                host="127.0.0.1",
                nthreads=1,
                memory_limit=0,
                local_directory=str(self.folder),
                dashboard_address="127.0.0.1:0",
                security=self.security,
            )
            await self.stack.enter_async_context(worker)

    async def hire_process(self, environment: Mapping[str, str] | None = None) -> Any:
        """Starts a worker that is a process of its own."""
        own = {**os.environ, **self.naps.environment, **(environment or {})}  # noqa: TID251  what the process needs
        known = len(self.scheduler.workers)
        command = worker_command(self.address, self.folder)
        process = begun(command, self.folder / f"worker{known + 1}.log", own)
        self.stack.callback(ended, process)
        while len(self.scheduler.workers) == known:
            if process.poll() is not None:
                raise RuntimeError(f"the worker did not start: {self.said()}")
            await anyio.sleep(0.02)
        return process

    def said(self) -> str:
        """All that processes of workers logged."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))


@asynccontextmanager
async def inside(folder: Path, workers: int = 0, security: Security | None = None) -> AsyncGenerator[Inside]:
    """A scheduler with so many workers in this process."""
    protocol = "tcp://" if security is None else "tls://"
    opening = partial(Scheduler, host="127.0.0.1", port=0, protocol=protocol, security=security)
    async with opening(dashboard_address="127.0.0.1:0") as scheduler, AsyncExitStack() as stack:
        there = Inside(scheduler, folder, stack, security)
        await there.hire(workers)
        yield there
