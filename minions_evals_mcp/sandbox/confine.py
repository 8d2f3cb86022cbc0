"""A process that gives up, for good, whatever running a stranger's code does not need.

Each measure is taken where the system has it: resource limits on POSIX, landlock and seccomp on Linux (x86-64 and
ARM64). What is not there is left out, and `confine` says what holds.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType

_NO_NEW_PRIVILEGES, _DEATH_SIGNAL = 38, 1
_SECCOMP, _FILTER = 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_VERSION = 1
_PATH_BENEATH = 1
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Every right over files that landlock knows, by the version from which it does."""
_NET_RIGHTS, _NET_VERSION = 0b11, 4
_SCOPES, _SCOPE_VERSION = 0b11, 6
_EXECUTE_AND_READ = 0b1101
_ALLOWED = {
    # read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn ioctl writev
    # sched_yield mremap madvise getpid exit getrusage times sigaltstack gettid futex clock_gettime clock_nanosleep
    # exit_group getrandom membarrier rseq
    "x86_64": (
        0xC000003E,
        (0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 24, 25, 28, 39, 60, 98, 100, 131, 186, 202, 228, 230, 231,
         318, 324, 334),
    ),
    "aarch64": (
        0xC00000B7,
        (63, 64, 57, 80, 62, 222, 226, 215, 214, 134, 135, 139, 29, 66, 124, 216, 233, 172, 93, 165, 153, 132, 178, 98,
         113, 115, 94, 278, 283, 293),
    ),
}  # fmt: skip
"""By machine its audit number and the system calls that computing takes: none opens, connects, starts or signals."""


def confine(
    *, memory_bytes: int, open_files: int = 0, programs: Sequence[str] = (), forks: bool = False
) -> tuple[str, ...]:
    """Confines this process and all that it starts; what holds from now on.

    With `programs` (files, or folders with all in them) those can still be read and started, and no system call is
    refused; without, nothing can be opened or started, nor connected unless it `forks` processes that confine themselves.
    """
    libc = _libc()
    resource = _resource()  # landlock would not let it be imported
    landlocked = libc is not None and _landlocked(libc, programs)
    holds = ("landlock",) if landlocked else ()
    if resource is not None:
        _limit(resource, memory_bytes, open_files)  # landlock takes a descriptor
        holds += ("rlimits",)
    if libc is not None and not programs and not forks and _filtered(libc):
        holds += ("seccomp",)
    return holds


def dies_with_its_parent(parent: int) -> None:
    """Ends this process when its parent ends, or at once where that is gone already."""
    libc = _libc()
    if libc is None or libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != parent:
        os._exit(1)


def _libc() -> ctypes.CDLL | None:
    """The C library of a Linux process that can gain no more privileges."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    return libc if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 else None


def _resource() -> ModuleType | None:
    """The module that limits resources; Windows has none."""
    try:
        import resource  # noqa: PLC0415  not there on Windows
    except ImportError:
        return None
    return resource


def _limit(resource: ModuleType, memory_bytes: int, open_files: int) -> None:
    """Limits memory and open files, and forbids writing to files and core dumps, where the system can."""
    wanted: dict[int, int] = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_NOFILE: open_files,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for name, most in wanted.items():
        with suppress(ValueError, OSError):  # macOS knows no limit of the address space
            resource.setrlimit(name, (most, most))


def _landlocked(libc: ctypes.CDLL, programs: Sequence[str]) -> bool:
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)
    if version < 1:
        return False
    rights = _FILE_RIGHTS[max(known for known in _FILE_RIGHTS if known <= version)]
    net = _NET_RIGHTS if version >= _NET_VERSION else 0
    scopes = _SCOPES if version >= _SCOPE_VERSION else 0
    attributes = struct.pack("=QQQ", rights, net, scopes)
    size = 24 if scopes else 16 if net else 8
    rules = libc.syscall(_LANDLOCK_CREATE, attributes, size, 0)
    if rules < 0:
        return False
    for program in programs:
        _allow(libc, rules, program)
    restricted = libc.syscall(_LANDLOCK_RESTRICT, rules, 0) == 0
    os.close(rules)
    return restricted


def _allow(libc: ctypes.CDLL, rules: int, path: str) -> None:
    """Lets a file, or a folder with all in it, be read and started; one that is not there needs no leave."""
    with suppress(FileNotFoundError):
        held = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rights = _EXECUTE_AND_READ if os.path.isdir(path) else _EXECUTE_AND_READ & ~0b1000  # noqa: PTH112  a path as given
        libc.syscall(_LANDLOCK_ADD, rules, _PATH_BENEATH, struct.pack("=Qi", rights, held), 0)
        os.close(held)


def _filtered(libc: ctypes.CDLL) -> bool:
    """Refuses every system call but those for computing, with EPERM."""
    machine = _ALLOWED.get(platform.machine())
    if machine is None:
        return False
    audit, allowed = machine
    load, equal, give = 0x20, 0x15, 0x06
    lines = [(load, 0, 0, 4), (equal, 0, len(allowed) + 1, audit), (load, 0, 0, 0)]
    # Each call found jumps over the rest and the refusal; x32 calls have numbers that are in no list.
    lines += [(equal, len(allowed) - at, 0, number) for at, number in enumerate(allowed)]
    lines += [(give, 0, 0, _REFUSE | errno.EPERM), (give, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    program = struct.pack("@HP", len(lines), ctypes.addressof(code))
    return libc.prctl(_SECCOMP, _FILTER, program, 0, 0) == 0
