"""Files below a folder, by a path that somebody else wrote: the only way to read a case's file and to write in a workspace.

A path has no empty, absolute, `..`, drive or NUL part. It is opened part by part, each relative to the folder before it, and
no part is followed that is a link. So what was checked is what is opened, also where another process changes the folder.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from minions_evals_mcp.errors import BadInputError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _NO_LINK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | _NO_LINK
_OVERWRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0) | _NO_LINK
_IN_THE_WAY = (errno.ELOOP, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.EMLINK)
"""What `open` answers where a part of the path is a link, a file or there already; anything else is the machine's failure."""
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | _NO_LINK
_RELATIVE = os.open in os.supports_dir_fd and os.mkdir in os.supports_dir_fd


def confined_path(text: str, *, field: str, remedy: str = "") -> PurePosixPath:
    """The path, where it can only lead below a folder; else raises `BadInputError` naming the field."""
    path = PurePosixPath(text)
    of_windows = sys.platform == "win32" and ("\\" in text or ":" in text)
    refused = (
        "it is empty" if not path.parts
        else "it is absolute" if path.is_absolute() or of_windows
        else "it has a .. part" if ".." in path.parts
        else "it has a NUL character" if "\0" in text
        else "it is not UTF-8" if text.encode("utf-8", "ignore").decode() != text
        else ""
    )  # fmt: skip
    if refused:
        raise BadInputError(
            f"{field}: {text!r} is not a path below the folder: {refused}.",
            remedy=remedy or "Give a relative path, such as data/x.csv.",
        )
    return path


def copy_confined(source: Path, root: Path, folder: Path, place: PurePosixPath) -> None:
    """Copies `source`, a file below `root`, to a new file at `place` below `folder`.

    Raises `BadInputError` where one of the parts below `folder` is a link, or something else is in its place.
    """
    place = confined_path(str(place), field="workspace")
    with opened_confined(source, root) as read, ExitStack() as opened:
        mode = stat.S_IMODE(os.fstat(read.fileno()).st_mode) & 0o777
        try:
            at = _parent(folder, place, opened, make=True)
            with os.fdopen(_open(at, place.name, _WRITE, mode), "wb") as written:
                copyfileobj(read, written)
        except OSError as error:
            if error.errno not in _IN_THE_WAY:
                raise
            raise BadInputError(
                f"{place} cannot be written in the workspace: {error.strerror}.",
                remedy="Give each file its own path, not reached through a link.",
            ) from None


@contextmanager
def opened_confined(source: Path, root: Path) -> Generator[BufferedReader]:
    """The regular file, open for reading. A link may stand below `root` if its end does too.

    Raises `BadInputError` where it is not there, stands outside of `root`, or is no regular file.
    """
    with ExitStack() as opened:
        try:
            base = root.resolve()
            path = confined_path(source.resolve().relative_to(base).as_posix(), field="files")
            at = _parent(base, path, opened, make=False)
            read = opened.enter_context(os.fdopen(_open(at, path.name, _READ), "rb"))
            regular = stat.S_ISREG(os.fstat(read.fileno()).st_mode)
        except (OSError, ValueError):
            raise _not_there(source, root) from None
        if not regular:
            raise _not_there(source, root)
        yield read


def _not_there(source: Path, root: Path) -> BadInputError:
    return BadInputError(
        f"files: {str(source)!r} is not a regular file in {root}.", remedy="Put the file itself there."
    )


def _parent(folder: Path, path: PurePosixPath, opened: ExitStack, *, make: bool) -> int | Path:
    """The folder in which the path's last part stands: its descriptor, or its path where the system has no `dir_fd`."""
    if not _RELATIVE:
        return _checked_parent(folder, path, make=make)
    at = os.open(folder.resolve(), _FOLDER)
    opened.callback(os.close, at)
    for part in path.parts[:-1]:
        if make:
            with suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=at)
        at = os.open(part, _FOLDER, dir_fd=at)
        opened.callback(os.close, at)
    return at


def _checked_parent(folder: Path, path: PurePosixPath, *, make: bool) -> Path:
    at = folder
    for part in path.parts[:-1]:
        at /= part
        if make:
            at.mkdir(0o700, exist_ok=True)
        if at.is_symlink() or not at.is_dir():
            raise NotADirectoryError(20, "a part of it is a link or not a folder", str(at))
    return at


def _open(at: int | Path, name: str, flags: int, mode: int = 0o600) -> int:
    return os.open(name, flags, mode, dir_fd=at) if isinstance(at, int) else os.open(at / name, flags, mode)


def write_confined(folder: Path, place: PurePosixPath, content: bytes) -> None:
    """Writes the file at `place` below `folder`, over one that is there; raises `BadInputError` where a link is in the way."""
    place = confined_path(str(place), field="path")
    with ExitStack() as opened:
        try:
            at = _parent(folder, place, opened, make=True)
            with os.fdopen(_open(at, place.name, _OVERWRITE), "wb") as written:
                written.write(content)
        except OSError as error:
            raise _in_the_way(place, error) from None


def open_appending(folder: Path, place: PurePosixPath) -> int:
    """The descriptor of the file at `place` below `folder`, made where it is missing, to read and to add to.

    Raises `BadInputError` where a link or no regular file is in the way.
    """
    place = confined_path(str(place), field="path")
    with ExitStack() as opened:
        try:
            appended = _open(_parent(folder, place, opened, make=True), place.name, _APPEND)
        except OSError as error:
            raise _in_the_way(place, error) from None
    if stat.S_ISREG(os.fstat(appended).st_mode):
        return appended
    os.close(appended)
    raise _in_the_way(place, OSError(errno.EEXIST, "it is not a regular file"))


def remove_confined(folder: Path, place: PurePosixPath) -> None:
    """Removes the file at `place` below `folder`, if it is there; raises `BadInputError` where a link is in the way."""
    place = confined_path(str(place), field="path")
    with ExitStack() as opened:
        try:
            at = _parent(folder, place, opened, make=False)
            if isinstance(at, int):
                os.unlink(place.name, dir_fd=at)
            else:
                (at / place.name).unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            raise _in_the_way(place, error) from None


def is_free(folder: Path, place: PurePosixPath) -> bool:
    """Whether a file can be written at `place` below `folder`: no link and no file of another kind is on the way now."""
    at = folder
    for part in place.parts[:-1]:
        at /= part
        if at.is_symlink() or (at.exists() and not at.is_dir()):
            return False
    at /= place.name
    return not at.is_symlink() and not at.is_dir()


def _in_the_way(place: PurePosixPath, error: OSError) -> Exception:
    """The refusal where something else stands there; what is the machine's failure stays as it is."""
    if error.errno not in {*_IN_THE_WAY, errno.EPERM}:
        return error
    return BadInputError(
        f"{place} cannot be changed: {error.strerror}.", remedy="Name a file that is not reached through a link."
    )
