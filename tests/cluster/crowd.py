"""A dask cluster of processes on loopback: the figures are measured with it."""

from __future__ import annotations

import json
import os
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
    naps: Naps = field(init=False)
    """What `napping` is called for by the workers."""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])
    started: int = 0

    def __post_init__(self) -> None:
        """The workers note their calls beside their logs."""
        self.naps = Naps(self.folder)

    def hire(self, count: int = 1) -> None:
        """Starts workers."""
        for _ in range(count):
            self.started += 1
            log = self.folder / f"worker{self.started}.log"
            command = worker_command(self.address, self.folder)
            self.workers.append(begun(command, log, {**self.naps.environment, **self.environment}))

    def kill(self, number: int) -> None:
        """SIGKILL for a worker."""
        worker = self.workers.pop(number)
        worker.kill()
        worker.wait()

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


def worker_command(address: str, folder: Path) -> list[str]:
    """What starts a worker with one thread."""
    place = ["--local-directory", str(folder), "--memory-limit", "0"]
    return [*DASK, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *place]


def ended(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that may have ended."""
    process.terminate()
    process.wait()


def begun(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A process whose words go to that file."""
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT, env=dict(environment))


@contextmanager
def crowd(folder: Path, workers: int, environment: Mapping[str, str]) -> Generator[Crowd]:
    """A scheduler with so many workers, ended with the block; `environment` is added to the workers' own."""
    own = dict(os.environ)  # noqa: TID251  what the processes need, and no setting of ours
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)  # an earlier one's
    ports = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    command = [*DASK, "scheduler", *ports, "--scheduler-file", str(file)]
    scheduler = begun(command, folder / "scheduler.log", own)
    try:
        there = Crowd(_address(file, scheduler), folder, {**own, **environment})
        there.hire(workers)
        try:
            there.join()
            yield there
        finally:
            for worker in there.workers:
                ended(worker)
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
