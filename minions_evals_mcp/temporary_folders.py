"""Temporary folders: each is held by the process that made it, and one that nobody holds is removed at the next start of any."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from filelock import FileLock, Timeout

Purpose = Literal["world", "workspace", "agent", "audit", "sandbox", "cluster", "unpacked", "suite"]
UNFINISHED = "minions-evals-new-"
OURS = re.compile(rf"{UNFINISHED}\w{{8}}|minions-evals-(?:{'|'.join(get_args(Purpose))})-\d+-\w{{8}}")
"""The name of a folder of ours: a folder that a user named like the program is theirs."""
OWNER = "owner"
"""The file that the process which made a folder keeps locked. The system lets go of it however that process ends."""
FILES = "files"
"""The part of a folder that whoever asked for it sees."""
OLD_S = 86_400
"""From this age on a folder that was never held is removed: no start takes that long."""


@contextmanager
def temporary_folder(purpose: Purpose) -> Generator[Path]:
    """An empty folder, which is gone afterwards."""
    folder, held = taken_folder(purpose)
    try:
        files = folder / FILES
        files.mkdir()
        yield files
    finally:
        held.release()
        shutil.rmtree(folder, ignore_errors=True)


def taken_folder(purpose: Purpose) -> tuple[Path, FileLock]:
    """A new folder, and the lock by which this process holds it. What killed processes left is removed once."""
    remove_left()
    begun = Path(tempfile.mkdtemp(prefix=UNFINISHED))
    held = FileLock(begun / OWNER, thread_local=False)
    held.acquire()
    if sys.platform == "win32":  # a folder cannot be renamed there while a file in it is open
        return begun, held
    folder = begun.with_name(begun.name.replace(UNFINISHED, f"minions-evals-{purpose}-{os.getpid()}-", 1))
    begun.rename(folder)  # it is seen by others once it is held
    return folder, held


@cache
def remove_left() -> None:
    """Removes the folders whose processes are gone, once for this process."""
    with suppress(OSError):  # another start may remove them at the same time
        for folder in [*_folders()]:
            if _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _folders() -> Iterator[Path]:
    """This user's folders of ours: what another user laid there is not opened."""
    for found in Path(tempfile.gettempdir()).iterdir():
        if OURS.fullmatch(found.name):
            status = found.lstat()
            if stat.S_ISDIR(status.st_mode) and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid()):
                yield found


def _is_left(folder: Path) -> bool:
    """Whether the process that made the folder is gone."""
    try:
        if folder.name.startswith(UNFINISHED) and time.time() - folder.stat().st_mtime <= OLD_S:
            return False
        if not (folder / OWNER).exists():  # what a program that outlived its run wrote after the folder was gone
            return not any(folder.glob("*.json")) or time.time() - folder.stat().st_mtime > OLD_S
        with FileLock(folder / OWNER, timeout=0, thread_local=False):
            return True
    except (OSError, Timeout):
        return False
