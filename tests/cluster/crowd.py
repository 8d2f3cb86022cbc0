"""A dask cluster for tests and figures: a scheduler and workers as processes of their own, on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.naps import Naps

ROOT = Path(__file__).parents[2]
LONGEST_S = 600.0
DASK = (sys.executable, "-m", "dask")


@dataclass(slots=True, eq=False)
class Crowd:
    """A scheduler's address and its workers; a worker that is killed can be replaced."""

    address: str
    folder: Path
    environment: Mapping[str, str]
    arguments: Sequence[str] = ()
    naps: Naps = field(init=False)
    """What `napping` is called for by the workers."""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])
    started: int = 0

    def __post_init__(self) -> None:
        """The workers note their calls beside their logs."""
        self.naps = Naps(self.folder)

    def hire(self, count: int = 1, address: str | None = None) -> None:
        """Starts workers; `address` is where they find the scheduler, if it is not its own."""
        for _ in range(count):
            self.started += 1
            command = [*DASK, "worker", address or self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            place = ["--local-directory", str(self.folder), "--memory-limit", "0", *self.arguments]
            log = self.folder / f"worker{self.started}.log"
            self.workers.append(_begun([*command, *place], log, {**self.naps.environment, **self.environment}))

    def kill(self, number: int) -> None:
        """SIGKILL for a worker."""
        worker = self.workers.pop(number)
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    @property
    def pids(self) -> list[int]:
        """The processes of the workers that are there."""
        return [worker.pid for worker in self.workers]

    def join(self) -> None:
        """Waits until as many workers are known to the scheduler as were started."""
        until = time.monotonic() + LONGEST_S
        while self.said().count("Registered to:") < self.started:
            if time.monotonic() > until or any(worker.poll() is not None for worker in self.workers):
                raise RuntimeError(f"the workers did not start: {self.said()}")
            time.sleep(0.02)

    def said(self) -> str:
        """All that scheduler and workers logged."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))


def _begun(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT, env=dict(environment))


@contextmanager
def crowd(
    folder: Path,
    workers: int,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> Generator[Crowd]:
    """A scheduler with so many workers, ended with the block; `environment` is added to the workers' own."""
    own = dict(os.environ)  # noqa: TID251  what the processes need, and no setting of ours
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)  # an earlier one's
    ports = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    command = [*DASK, "scheduler", *ports, "--scheduler-file", str(file), *arguments]
    scheduler = _begun(command, folder / "scheduler.log", own)
    try:
        there = Crowd(_address(file, scheduler), folder, {**own, **(environment or {})}, arguments)
        there.hire(workers)
        try:
            there.join()
            yield there
        finally:
            for worker in there.workers:
                worker.terminate()
                worker.wait()
    finally:
        scheduler.kill()
        scheduler.wait()


def _address(file: Path, scheduler: subprocess.Popen[bytes]) -> str:
    """Where the scheduler listens, as its file says."""
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until and scheduler.poll() is None:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.02)
    raise RuntimeError(f"the scheduler did not start: {file.with_name('scheduler.log').read_text()}")
