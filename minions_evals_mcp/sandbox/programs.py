"""Programs of the user's, ended with all that they started."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.abc import Process

from minions_evals_mcp.sandbox.child_environment import child_environment

GRACE_SECONDS = 60.0
"""So long the keeper may take to kill what it keeps: it takes milliseconds, and what it does not kill lives on."""
_KEEPER = Path(__file__).with_name("keeper.py")


class NotStartedError(Exception):
    """There is no program, or it is none that this machine runs."""


@asynccontextmanager
async def running(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stderr: int = PIPE,
    limits: Mapping[int, int] | None = None,
    cwd: Path | None = None,
) -> AsyncGenerator[Process]:
    """The program, started in `cwd`, else here; when this ends, however it does, the program and all that it started are dead.

    Its environment is `env`, else this process's without our own variables.

    `terminate` ends it early. `limits` are those of `resource`. Raises `NotStartedError`, perhaps at the end only.
    """
    process: Process | None = None
    refusals, pipe = os.pipe()
    with os.fdopen(refusals, "rb") as refused:
        try:
            with anyio.CancelScope(shield=True):  # cancelled halfway, asyncio would kill the keeper alone
                process = await anyio.open_process(
                    _command(command, pipe, limits or {}),
                    stderr=stderr,
                    env=child_environment() if env is None else dict(env),
                    cwd=cwd,
                    start_new_session=True,
                    pass_fds=() if sys.platform == "win32" else (pipe,),
                )
        except OSError as error:
            raise NotStartedError(error.strerror or str(error)) from None
        finally:
            os.close(pipe)
        assert process is not None
        try:
            yield process
        finally:
            await _end(process)
        number = refused.read()
    if number:
        raise NotStartedError(os.strerror(int(number)))


def _command(command: Sequence[str], pipe: int, limits: Mapping[int, int]) -> Sequence[str]:
    """The command under its keeper; Windows, which has no process groups, runs it as it is."""
    if sys.platform == "win32":
        return command
    bounds = ",".join(f"{name}={most}" for name, most in limits.items())
    return (sys.executable, "-I", "-S", str(_KEEPER), str(os.getpid()), str(pipe), bounds, *command)


async def _end(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        with suppress(ProcessLookupError):
            process.terminate()
            if sys.platform != "win32":
                process.send_signal(signal.SIGCONT)  # a program may have stopped its keeper
        with anyio.move_on_after(GRACE_SECONDS):
            await process.wait()
        with suppress(ProcessLookupError):
            process.kill()
        await process.aclose()
