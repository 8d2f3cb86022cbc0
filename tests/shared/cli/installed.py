"""Our programs as a shell finds them by name, each forked by a process on standby: a script of ten commands starts one interpreter."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hang import HANG_S
from tests.shared.cli.standby import LONGEST, PROGRAMS, ROOT, STANDBYS, Asked, Standbys, started

SCRIPTS = Path(sys.executable).parent
BELL = """#!{python} -IS
import array, json, os, sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_SEQPACKET, SOL_SOCKET, socket
bell = socket(AF_UNIX, SOCK_SEQPACKET)
bell.connect({door!r})
asked = {{"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ), "program": {name!r}}}
bell.sendmsg([json.dumps(asked).encode()], [(SOL_SOCKET, SCM_RIGHTS, array.array("i", [0, 1, 2]))])
sys.exit(int(bell.recv(100)))
"""
"""A program that has its command carried out with its own streams, and ends as that does."""


@contextmanager
def installed(by: Standbys = STANDBYS, limit_s: float | None = HANG_S) -> Generator[str]:
    """The path on which a shell finds our programs first, then what is installed beside this interpreter; none runs longer."""
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        address = str(Path(folder) / "door")
        door.bind(address)
        door.listen()
        for name in PROGRAMS:
            program = Path(folder) / name
            program.write_text(BELL.format(python=sys.executable, door=address, name=name))
            program.chmod(0o755)
        porter = threading.Thread(target=_serve, args=(door, by, limit_s))
        porter.start()
        try:
            yield f"{folder}:{SCRIPTS}"
        finally:
            door.shutdown(socket.SHUT_RDWR)
            porter.join()


def _serve(door: socket.socket, by: Standbys, limit_s: float | None) -> None:
    """Carries out each command that is asked for, several at once, until the door is shut."""
    at_work: list[threading.Thread] = []
    while True:
        try:
            bell, _ = door.accept()
        except OSError:
            break
        at_work.append(threading.Thread(target=_carried_out, args=(bell, by, limit_s)))
        at_work[-1].start()
    for command in at_work:
        command.join()


def _carried_out(bell: socket.socket, by: Standbys, limit_s: float | None) -> None:
    """Has the command carried out, and ends it where the program that rang is killed."""
    with bell:
        received, streams, _, _ = socket.recv_fds(bell, LONGEST, 3)
        if not received:  # killed before it rang
            return
        try:
            pid = by.begun(Asked(**json.loads(received), scripts=str(SCRIPTS)), streams)
        finally:
            for stream in streams:
                os.close(stream)
        ending = os.pidfd_open(pid)
        ready, _, _ = select.select([ending, bell], [], [], limit_s)
        if ending not in ready:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(ending)
        with suppress(OSError):
            bell.send(str(os.waitstatus_to_exitcode(status)).encode())


SESSION = ExitStack()
"""What is open until the tests end."""


def python_of_workers(arguments: tuple[str, ...]) -> str:
    """The interpreter, by its file, for xdist's workers: each is forked by one process that has collected what the arguments say."""
    collecting = started({**os.environ}, "tests.shared.cli.collecting", *arguments)  # noqa: TID251  a worker's own
    standbys = Standbys(first=collecting)
    SESSION.callback(standbys.ended)
    return str(Path(SESSION.enter_context(installed(standbys, limit_s=None)).partition(":")[0]) / "worker")


@cache
def program(name: str) -> str:
    """Our program of that name, for whoever starts it by its file: a start costs a fork, and its end is the command's."""
    imported = Asked(["--help"], str(ROOT), {**os.environ}, name)  # noqa: TID251  it is not to be waited for by who starts it
    STANDBYS.carried_out(imported, b"", HANG_S)
    return str(Path(SESSION.enter_context(installed()).partition(":")[0]) / name)
