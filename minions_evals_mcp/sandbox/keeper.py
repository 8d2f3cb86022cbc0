"""The process between us and a program of the user's: it ends as the program ends, or when it is told to, and all that the
program started ends with it.

On Linux a process that loses its parent becomes a child of this one, whatever session it made for itself, so nothing
gets away. Elsewhere such a process is lost once its parent is gone and it has left the program's group.

    keeper.py OUR-PID DESCRIPTOR LIMIT=MOST,… PROGRAM ARGUMENTS…

A program that cannot be started is reported to the descriptor; -1 is none.

Run without site-packages and by its path: it starts with every program, and imports no more than it needs.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from types import FrameType
else:
    import _signal as signal  # without the enums around it, which take as long to make as the interpreter to start

_DEATH_SIGNAL, _SUBREAPER = 1, 36
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_AWAITED = (signal.SIGCHLD, *_ENDING)
_AGAIN_SECONDS = 0.001
_NO_PROGRAM = 127


def main() -> None:
    """Starts the program, waits for it or for a signal to end, kills what is left, and ends as the program did."""
    ours, pipe, limits, *command = sys.argv[1:]
    signal.signal(signal.SIGCHLD, _note)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    _control(_SUBREAPER, 1)
    _control(_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != int(ours):
        return  # we were killed before the line above
    program = os.fork()
    if program == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        _become(command, limits, int(pipe))
    _let_go_of_pipes(int(pipe))
    ended = dict[int, int]()
    while program not in ended and signal.sigwait(_AWAITED) not in _ENDING:
        _bury(ended)
    end_all(program, ended)
    _end_as(ended.get(program, signal.SIGKILL))


def _note(_number: int, _frame: FrameType | None) -> None:
    """Nothing: but a signal that nobody handles may be dropped before it is awaited."""


def _control(what: int, value: int) -> None:
    """Sets what Linux does with this process, or with its children, when a parent is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def _become(command: list[str], limits: str, pipe: int) -> None:
    """Becomes the program, in a session of its own; where that fails, the error's number is written to `pipe`."""
    try:
        os.setsid()
        _control(_DEATH_SIGNAL, signal.SIGKILL)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python's habit, not the program's
            signal.signal(ignored, signal.SIG_DFL)
        _limit(limits)
        if pipe >= 0:
            os.set_inheritable(pipe, False)  # noqa: FBT003  how the library says it
        os.execvp(command[0], command)  # noqa: S606  the user's program, no shell
    except OSError as error:
        if pipe >= 0:
            os.write(pipe, str(error.errno).encode())
    finally:
        os._exit(_NO_PROGRAM)


def _limit(limits: str) -> None:
    """Sets resource limits, as far as the system has them."""
    for limit in filter(None, limits.split(",")):
        name, _, most = limit.partition("=")
        with suppress(ValueError, OSError):  # macOS knows no limit of the address space
            above = int(
                int(name) == resource.RLIMIT_CPU
            )  # at the lower bound SIGXCPU says why, at the upper SIGKILL nothing
            resource.setrlimit(int(name), (int(most), int(most) + above))


def _let_go_of_pipes(kept_open: int) -> None:
    """Leaves the pipes to the program: it may close them before it ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in (0, 1, 2):
        os.dup2(nothing, pipe)
    if kept_open >= 0:
        os.close(kept_open)


def _bury(ended: dict[int, int]) -> None:
    """Notes how each child ended that has."""
    with suppress(ChildProcessError):
        while (buried := os.waitpid(-1, os.WNOHANG))[0]:
            ended[buried[0]] = buried[1]


def end_all(program: int, ended: dict[int, int]) -> None:
    """Kills the program's group and every descendant, until none is left that may be killed."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGKILL)
    while sum(_killed(child) for child in descendants(os.getpid(), parents())):
        time.sleep(_AGAIN_SECONDS)  # what was started meanwhile is found in the next round
        _bury(ended)
    _bury(ended)


def _killed(process: int) -> bool:
    """Returns whether the process could be killed; one of another user's, made by sudo, cannot."""
    try:
        os.kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def descendants(ancestor: int, parents: Mapping[int, int]) -> set[int]:
    """The processes whose line of parents leads to the ancestor."""
    descended, generation = set[int](), {ancestor}
    while generation := {child for child, parent in parents.items() if parent in generation} - descended:
        descended |= generation
    return descended


def parents() -> dict[int, int]:
    """The parent of every process that is not dead yet."""
    if sys.platform != "linux":
        return parents_by_ps()
    parents_by_child = dict[int, int]()
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208  pathlib takes longer to import than all this
        with suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:  # noqa: PTH123  as above
            state, parent = stat.read().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents_by_child[int(name)] = int(parent)
    return parents_by_child


def parents_by_ps() -> dict[int, int]:
    """The same where there is no /proc."""
    import subprocess  # noqa: PLC0415  not needed on Linux

    listed = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=False)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return {int(row[0]): int(row[1]) for row in rows if len(row) > 2 and not row[2].startswith("Z")}


def _end_as(status: int) -> None:
    """Ends with the code or by the signal with which the program ended."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's own core file is enough
        with suppress(OSError):  # SIGKILL has no handler to be reset
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
