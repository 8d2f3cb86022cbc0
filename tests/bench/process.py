"""Whole processes, measured by the operating system's own accounting, and the fake model server beside them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATH = os.environ["PATH"]  # noqa: TID251  the child needs it, no setting of ours


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process took: wall and CPU in seconds, peak memory in MB, exit code, and its output's size in bytes."""

    wall_s: float
    cpu_s: float
    rss_mb: float
    code: int


def measured(command: Sequence[str], environment: Mapping[str, str], *, stdin: Path | None = None) -> Usage:
    """Runs the command to its end; raises where it fails."""
    with open(stdin or os.devnull, "rb") as source, open(os.devnull, "wb") as sink:  # noqa: PTH123  os.devnull is no Path
        started = time.perf_counter()
        child = subprocess.Popen(
            command, env=dict(environment), stdin=source, stdout=sink, stderr=subprocess.PIPE, cwd=ROOT
        )
        assert child.stderr is not None
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {said.decode()[-2000:]}")
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, child.returncode)


@contextmanager
def serving(latency_ms: float) -> Generator[str]:
    """The fake model server as a process of its own; its address."""
    command = [sys.executable, "-m", "tests.fakes.llm_server", "--port", "0", "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().decode().split()[0]
        finally:
            server.terminate()
