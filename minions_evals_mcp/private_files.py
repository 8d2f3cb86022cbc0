"""Files that hold a secret or a decision of the operator: read and written here only.

One is read if it is a regular file of ours that nobody else can read or write, and not through a link. So another user of the
machine who lays a file or a link in its place decides nothing and learns nothing.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TextIO

MOST = 1 << 20
OWN = 0o600
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_CREAT | os.O_EXCL | os.O_RDWR | _NO_LINK
_HAS_OWNERS = hasattr(os, "geteuid")


def read_private(file: Path) -> bytes:
    """The bytes of the file; raises `OSError` where it is not there, is not ours alone, or is too large."""
    with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0) | _NO_LINK), "rb") as opened:
        vet_private(opened.fileno(), file)
        content = opened.read(MOST + 1)
    if len(content) > MOST:
        raise OSError(errno.EFBIG, "it is too large", str(file))
    return content


def write_private(file: Path, content: str, *, mode: int = OWN) -> None:
    """Writes the whole file or nothing, in place of what stands there, be it a link; raises `OSError` where it cannot."""
    part = file.with_name(f".{file.name[:40]}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(part, _NEW, mode), "w", encoding="utf-8", newline="") as opened:
            opened.write(content)
        part.chmod(mode)  # whatever the umask took away
        part.replace(file)
    finally:
        with suppress(OSError):
            part.unlink()


def create_private(file: str | Path) -> None:
    """Makes an empty file that only its owner can read; raises `FileExistsError` where anything stands there."""
    os.close(os.open(file, _NEW, OWN))


def append_private(file: Path) -> TextIO:
    """The text file, made where it is missing, to add to; raises `OSError` as `read_private` does."""
    opened = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY | _NO_LINK, OWN)
    try:
        vet_private(opened, file)
        return os.fdopen(opened, "a", encoding="utf-8", errors="backslashreplace")
    except OSError:
        os.close(opened)
        raise


def vet_private(opened: int, file: Path) -> None:
    """Raises `PermissionError` where what was opened is not a regular file that is ours alone."""
    seen = os.fstat(opened)
    is_ours = not _HAS_OWNERS or (seen.st_uid == os.geteuid() and not seen.st_mode & 0o077)
    if not stat.S_ISREG(seen.st_mode) or not is_ours:
        raise PermissionError(errno.EPERM, "others can read or change it", str(file))
