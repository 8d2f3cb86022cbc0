"""The process that runs Python with its standard library: one JSON request a line in, one JSON answer a line out.

It forks a child for each snippet. The child reads the request itself and then gives up, for good, every system call but
those for computing: it can open, start and reach nothing, and what it may import was imported beforehand. The process
never sees a request, and takes one line of what the child says.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

from minions_evals_mcp.sandbox.confine import confine, dies_with_its_parent
from minions_evals_mcp.sandbox.standard_modules import ENCODINGS, IMPORTED, LACKING, MODULES, USED
from minions_evals_mcp.sandbox.trusted_python import Answer, answer_text

PROCESS_MEMORY, OPEN_FILES = 256 << 20, 16
_LONGEST_ANSWER = 1 << 23
_AT_ONCE = 1 << 16
_TRIAL_MEMORY = 64 << 20
_NO_MORE = 9
"""The status of a child that found no request."""
_DENIED = {
    "open": "files", "os": "system calls", "socket": "network", "subprocess": "programs", "shutil": "files",
    "ctypes": "ctypes", "builtins.input": "input", "builtins.breakpoint": "debugger", "glob": "files", "tempfile": "files",
}  # fmt: skip
"""What the events of the interpreter say that code is after."""
_IMPORTED = IMPORTED.union(USED)


def main() -> None:
    """Says what confines a child, then answers every line until there are no more."""
    _import_all()
    there = _all_modules()
    size, nowhere = _address_space(), os.open(os.devnull, os.O_RDWR)
    gc.freeze()
    confine(memory_bytes=size + PROCESS_MEMORY, open_files=OPEN_FILES, forks=True)
    holds = _child(lambda: json.dumps(confine(memory_bytes=size + _TRIAL_MEMORY)), nowhere)[0]
    _write(1, holds + b"\n")
    while b"seccomp" not in holds and sys.stdin.readline():
        _write(1, b'{"kind": "unconfined"}\n')
    while True:
        reply, status = _child(lambda: _answered(size, nowhere, there), nowhere)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _NO_MORE:
            return
        _write(1, (reply.partition(b"\n")[0] or _death(status)) + b"\n")


def _death(status: int) -> bytes:
    """The answer for a child that gave none: its time is over, or it died."""
    match os.WTERMSIG(status) if os.WIFSIGNALED(status) else None:
        case signal.SIGPROF | signal.SIGXCPU:
            return b'{"kind": "time-limit"}'
        case signal.SIGALRM:
            return b'{"kind": "wall-limit"}'
        case _:
            return b'{"kind": "died"}'


def _import_all() -> None:
    """Imports what a snippet may come to use: a confined process cannot read a file."""
    for name in MODULES:
        importlib.import_module(name)
    for name in USED:
        with suppress(ImportError):
            importlib.import_module(name)
    for name in ENCODINGS:
        "a".encode(name)
    time.localtime()  # reads the time zone


def _all_modules() -> frozenset[str]:
    """The names of all modules that Python brings, and of those in the packages that were imported."""
    packages = [(name, sys.modules[name]) for name in sorted(IMPORTED)]
    within = {
        f"{name}.{module.name}"
        for name, package in packages
        for module in pkgutil.iter_modules(getattr(package, "__path__", ()))
    }
    return sys.stdlib_module_names | within


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as sizes:  # noqa: PTH123  pathlib is none of a snippet's modules
        return int(sizes.read().split()[0]) * resource.getpagesize()


def _write(to: int, text: bytes) -> None:
    while text:
        text = text[os.write(to, text) :]


def _child(work: Callable[[], str], nowhere: int) -> tuple[bytes, int]:
    """Returns what a child says that does the work, and how it ended."""
    reading, writing = os.pipe()
    parent = os.getpid()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            os.dup2(nowhere, 1)
            dies_with_its_parent(parent)
            _write(writing, work().encode("utf-8", "replace"))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        reply = answers.read(_LONGEST_ANSWER)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)  # it has nothing more to say
    return reply, os.waitpid(process, 0)[1]


def _answered(size: int, nowhere: int, there: frozenset[str]) -> str:
    """In a child: the answer to one request, carried out where nothing but computing is possible."""
    request_read = _request()
    os.dup2(nowhere, 0)
    os.close(nowhere)
    signal.setitimer(signal.ITIMER_PROF, request_read["seconds"])
    signal.setitimer(signal.ITIMER_REAL, request_read["wall"])
    if "seccomp" not in confine(memory_bytes=size + request_read["memory"]):
        return json.dumps({"kind": "died"})
    missed: list[str] = []
    sys.addaudithook(partial(_watch, there, missed))
    return answer_text(request_read, missed, builtins={**vars(builtins), "__import__": partial(_imported, missed)})


def _request() -> Answer:
    """The next request; where there is none, the child ends."""
    read = b""
    while not read.endswith(b"\n"):
        part = os.read(0, _AT_ONCE)
        if not part:
            os._exit(_NO_MORE)
        read += part
    return json.loads(read)


def _watch(there: frozenset[str], missed: list[str], event: str, arguments: tuple[Any, ...]) -> None:
    """Notes what code is after and does not get: whatever it makes of the refusal is no answer."""
    match event:
        case "open" if "<" in str(arguments[0])[:3]:  # for the text of a line that does not parse
            lacks = None
        case "os.listdir":  # for a module that is not there
            lacks = None
        case "import":
            lacks = f"module {arguments[0]}" if arguments[0] in there else None
        case _:
            lacks = _DENIED.get(event) or _DENIED.get(event.partition(".")[0])
    if lacks:
        _note(missed, lacks)


def _note(missed: list[str], lacks: str) -> None:
    missed.append(LACKING + lacks)


def _imported(
    missed: list[str],
    name: str,
    around: Any = None,
    within: Any = None,
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> ModuleType:
    """The module, as `__import__` gives it; any that does more than compute is noted and is none."""
    if level or name not in _IMPORTED:
        _note(missed, f"module {name}")
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return __import__(name, around, within, fromlist, level)
