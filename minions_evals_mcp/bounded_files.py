"""Files of a user's or a stranger's that are read whole: never a device, and never more than may be held."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from minions_evals_mcp.errors import BadInputError

MOST = 64 << 20
"""So many bytes may one file have that is read whole; what is larger comes as JSON lines, which are read one by one."""
STORE = b"SQLite format 3\0"
"""The beginning of every store."""


def read_bytes(path: Path, *, most: int = MOST) -> bytes:
    """The file's bytes; raises `BadInputError` for a device and for a file that is too large, `OSError` as opening one does."""
    with path.open("rb") as file:
        _vet(path, file)
        content = file.read(most + 1)
    if len(content) > most:
        raise BadInputError(
            f"{path} is larger than {most >> 20} MB, the limit for a file that is read whole.",
            remedy="Split it, or write one record per line (.jsonl).",
        )
    return content


def read_text(path: Path, *, most: int = MOST, errors: str = "strict") -> str:
    """The file's text (UTF-8, with or without a byte order mark); raises as `read_bytes` does, and `UnicodeDecodeError`."""
    return read_bytes(path, most=most).decode("utf-8-sig", errors).replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, *, longest: int = MOST) -> Iterator[str]:
    """The lines of a text, read as they are asked for; raises as `read_text` does, and for a line that is longer than that."""
    with path.open("rb") as file:
        _vet(path, file)
    with path.open(encoding="utf-8-sig") as lines:  # they end where the file's ends of line are, not at a U+2028
        while line := lines.readline(longest + 1):
            if len(line) > longest:
                raise BadInputError(f"{path} has a line of more than {longest} characters.", remedy="Split it.")
            yield line


def _vet(path: Path, file: IO[bytes]) -> None:
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise BadInputError(f"{path} is a device, not a regular file.", remedy="Name a file.")


def vet_no_store(out: Path) -> None:
    """Refuses to write a report, an export or a table over a store, whatever its name is."""
    if not out.is_file():  # a pipe is not read
        return
    try:
        with out.open("rb") as file:
            holds = file.read(len(STORE)) == STORE
    except OSError:  # writing says why not
        return
    if holds:
        raise BadInputError(f"{out} is a store, and a store is never overwritten.", remedy="Choose another name.")
