"""A program that gets away from its parent as daemons do, and how to see whether it is dead."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from tests.hang import HANG_S

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to another than init")


def daemon(pid_file: Path) -> str:
    """Python that forks twice, into a session of its own, without pipes and deaf to signals; it goes on once that is there."""
    return f"""
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(one, signal.SIG_IGN)
        with open({str(pid_file)!r} + ".new", "w") as told:
            told.write(str(os.getpid()))
        os.rename({str(pid_file)!r} + ".new", {str(pid_file)!r})
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists({str(pid_file)!r}):
    time.sleep(0.001)
"""


def lives(process: int) -> bool:
    """Whether the process runs; one that nobody has buried yet is dead."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def is_there(pid_file: Path) -> int:
    """Waits until the daemon has written its number."""
    with anyio.fail_after(HANG_S):
        while not await anyio.Path(pid_file).exists():
            await anyio.lowlevel.checkpoint()
    process = int(await anyio.Path(pid_file).read_text())
    assert lives(process), "nothing would be proved"
    return process


async def is_gone(pid_file: Path) -> None:
    """Waits until the process whose number stands in the file is dead."""
    process = int(await anyio.Path(pid_file).read_text())
    with anyio.fail_after(HANG_S):
        while lives(process):
            await anyio.lowlevel.checkpoint()
