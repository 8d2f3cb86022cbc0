"""The digest of what a folder holds that an agent works in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.targets.workspace import NEVER_LAID

MOST_READ = 5_000
MOST_BYTES = 50_000_000
"""Of a folder with more files or bytes, size and time of change stand for contents."""


def folder_digest(folder: Path) -> str:
    """The digest of the files below the folder, by name and contents; repositories and caches stay out.

    Raises `OSError` for a file that cannot be read.
    """
    files = sorted(_files(folder))
    reads = len(files) <= MOST_READ and sum(path.lstat().st_size for path in files) <= MOST_BYTES
    return digest({str(path.relative_to(folder)): _held(path) if reads else _stamp(path) for path in files})


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in NEVER_LAID]
        yield from (Path(place, name) for name in names)


def _held(path: Path) -> str:
    if path.is_symlink():
        return str(path.readlink())
    if not path.is_file():
        return ""  # a pipe or a socket
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(path: Path) -> str:
    state = path.lstat()
    return f"{state.st_size} {state.st_mtime_ns}"
