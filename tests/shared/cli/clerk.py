"""Commands that end, carried out one after another in one process: its own fork is the only one, and what is hot stays hot.

A clerk is as a process that has just been forked before each command; after one that left anything behind it ends, and another
takes its place. That it answers as processes started anew do, `tests/cli/test_clerks.py` shows.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper  # pyright: ignore[reportPrivateUsage]  the type of what `cache` makes
from inspect import signature
from pathlib import Path
from typing import cast

from minions_evals_mcp.known_secrets import forget
from tests.shared.cli.standby import (
    ENDING_S,
    LONGEST,
    PROGRAMS,
    ROOT,
    STANDBYS,
    UNMEASURED,
    Asked,
    Forked,
    Standby,
    Standbys,
    become,
    flushed,
)  # fmt: skip

MOST = 200
"""Commands of one clerk."""
PATIENCE_S = 0.5
"""A worker thread that has been told to end may take this long; one that takes longer costs a fork."""
STDERR = 2
OURS = ("minions_evals_mcp", "agent")
REMEMBERED = frozenset({"_ABSENT", "_KNOWN"})
"""What a type says without its fields, and what a check reads as: the same in each process."""
FORGOTTEN = frozenset({"_LOADED", "UNDER_WAY"})
"""What a process knows of files that it read and of runs that it began, for as long as it lives."""
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)
INSTALLED = tuple(str(folder) for folder in (ROOT / "minions_evals_mcp", ROOT / "agent", sys.prefix, sys.base_prefix))


class Clerk(Standby):
    """One such process and the wire to it."""

    def ended_with(self, asked: Asked, streams: list[int], limit_s: float) -> int:
        """The exit code of the command, also of one that ended the process that it ran in."""
        try:
            return super().ended_with(asked, streams, limit_s)
        except ValueError:  # it said nothing
            return self.process.wait(ENDING_S)


@dataclass(slots=True)
class Clerks:
    """Those that wait for a command; each carries out one at a time."""

    of: Standbys = field(default_factory=lambda: STANDBYS)
    """What forks them."""
    idle: list[Clerk] = field(default_factory=list[Clerk])

    def carried_out(self, asked: Asked, stdin: bytes, limit_s: float) -> tuple[int, bytes, bytes]:
        """The exit code, stdout and stderr of the command."""
        clerk = self.idle.pop() if self.idle else _another(self.of, asked.environment)
        code, out, err = clerk.carried_out(asked, stdin, limit_s)
        if code >= STAYS:
            self.idle.append(clerk)
            return code - STAYS, out, err
        clerk.ended()
        return code, out, err

    def ended(self) -> None:
        """None is left."""
        while self.idle:
            self.idle.pop().ended()


CLERKS = Clerks()
UNMEASURED_CLERKS = CLERKS if UNMEASURED is STANDBYS else Clerks(UNMEASURED)
Memo = OrderedDict[object, object] | dict[object, object] | list[object]
_LOOKED_THROUGH: set[str] = set()
_KEPT: list[Sized] = []
_MEMOS: list[Memo] = []
"""What modules of ours have read of files and stores, by their paths: the next command's may be others."""
STAYS = 1000
"""Is added to the exit code by a clerk that takes another command."""


def _another(of: Standbys, environment: dict[str, str]) -> Clerk:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        asked = Asked([], str(ROOT), environment, "clerk", lasts=True)
        return Clerk(Forked(asked, of=of, stdin=theirs.fileno(), stdout=None, stderr=None), ours)


def main() -> None:
    """Carries out what is asked for, until a command leaves something behind or the other side has gone."""
    wire = socket.socket(fileno=os.dup(0))
    caches = tuple(_of_files())
    for served in range(1, MOST + 1):
        received, streams, _, _ = socket.recv_fds(wire, LONGEST, 3)
        if not received:
            return
        asked = Asked(**json.loads(received))
        program = importlib.import_module(PROGRAMS[asked.program]).main
        before = State()
        become(asked, streams)
        code, whole = _ending(program)
        code = flushed(code)
        forget()  # what is secret is told to each process
        for cached in caches:
            cached.cache_clear()
        for memo in _MEMOS:
            memo.clear()
        os.chdir(ROOT)
        stays = whole and served < MOST and before.holds()
        wire.send(str(code + STAYS * stays).encode())
        if not stays:
            return


def _ending(main: Callable[[], object]) -> tuple[object, bool]:
    """The exit code, and whether the command ended by itself; what is not caught is told as the interpreter tells it."""
    try:
        with warnings.catch_warnings():  # whoever leaves it has warnings told again
            code = main()
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:  # noqa: BLE001  told as the interpreter tells it
        sys.excepthook(type(error), error, error.__traceback__)
        return 1, False
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    return code, True


def _of_files() -> Iterator[_lru_cache_wrapper[object]]:
    """Caches of ours that know a file by its path: the next command's may be another."""
    for name, module in sys.modules.copy().items():
        if name.partition(".")[0] in OURS:
            for kept in vars(module).values():
                if isinstance(kept, _lru_cache_wrapper) and "Path" in str(
                    signature(cast("_lru_cache_wrapper[object]", kept))
                ):
                    yield cast("_lru_cache_wrapper[object]", kept)


class State:
    """What of this process a command may change, as it is now."""

    def __init__(self) -> None:
        self.modules = set(sys.modules)
        self.handlers = [signal.getsignal(one) for one in HANDLED]
        self.searched = sys.path[1:], list(sys.meta_path)
        self.logged = list(logging.root.handlers)
        self.open = _open()
        self.mask = _mask()
        self.kept = _kept()

    def holds(self) -> bool:
        """Whether all that a command may leave behind is gone; what it imported of installed packages may stay."""
        return (
            _is_alone()
            and all(_is_installed(name) for name in set(sys.modules) - self.modules)
            and self.handlers == [signal.getsignal(one) for one in HANDLED]
            and self.searched == (sys.path[1:], list(sys.meta_path))
            and self.logged == logging.root.handlers
            and self.mask == _mask()
            and all(len(container) == size for container, size in self.kept)
            and (self.open >= _open() or (bool(gc.collect()) and self.open >= _open()))
        )


def _is_alone() -> bool:
    """Whether no thread and no child process of the command is left."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(None if not thread.daemon else PATIENCE_S)
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        return False
    return threading.active_count() == 1


def _kept() -> list[tuple[Sized, int]]:
    """What modules of ours keep for the whole process, with its size; what they only remember does not count.

    Each module is looked through once: to do it at each command would take longer than many of them.
    """
    for name in sys.modules.keys() - _LOOKED_THROUGH:
        _LOOKED_THROUGH.add(name)
        if name.partition(".")[0] in OURS:
            for label, kept in vars(sys.modules[name]).items():
                if isinstance(kept, OrderedDict) or label in FORGOTTEN:
                    _MEMOS.append(cast("Memo", kept))
                elif isinstance(kept, list | set | dict) and label not in REMEMBERED and not label.startswith("__"):
                    _KEPT.append(cast("Sized", kept))
    return [(kept, len(kept)) for kept in _KEPT]


def _is_installed(name: str) -> bool:
    file = getattr(sys.modules[name], "__file__", None)
    return file is None or str(file).startswith(INSTALLED)


def _open() -> set[tuple[str, str]]:
    """What is open, but for the three streams."""
    found: set[tuple[str, str]] = set()
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own
            if int(one.name) > STDERR:
                found.add((one.name, str(one.readlink())))
    return found


def _mask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
