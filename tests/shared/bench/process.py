"""Whole processes, measured by the operating system's own accounting, and the fake model server beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PATH = os.environ["PATH"]  # noqa: TID251  the child needs it, no setting of ours


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process took: wall and CPU in seconds, peak memory in MB, exit code, and its output's size in bytes."""

    wall_s: float
    cpu_s: float
    rss_mb: float
    code: int


_BESIDE = """
import json, os, sys, time
silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
started = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - started
cpu = usage.ru_utime + usage.ru_stime
print(json.dumps([wall, cpu, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)]))
"""
"""Starts the command from a small process: whatever is started begins with the peak memory of what started it."""


def measured(command: Sequence[str], environment: Mapping[str, str], *, stdin: Path | None = None) -> Usage:
    """Runs the command to its end; raises where it fails."""
    beside = [sys.executable, "-I", "-S", "-c", _BESIDE]
    with open(stdin or os.devnull, "rb") as source:  # noqa: PTH123  os.devnull is no Path
        done = subprocess.run(
            [*beside, *command], env=dict(environment), stdin=source, capture_output=True, cwd=ROOT, check=True
        )
    found = Usage(*json.loads(done.stdout))
    if found.code != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {found.code}: {done.stderr.decode()[-2000:]}")
    return found


@contextmanager
def serving(latency_ms: float) -> Generator[str]:
    """The fake model server as a process of its own; its address."""
    command = [sys.executable, "-m", "tests.shared.fakes.llm_server", "--port", "0", "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().decode().split()[0]
        finally:
            server.terminate()
