"""A neighbour's files, only ever read: a folder of JSON and JSON lines, or one file of them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path

import anyio.to_thread

from minions_evals_mcp.ports import Arrived

WHOLE = (".json",)
LINES = (".jsonl", ".ndjson")
LONGEST = 64_000_000
"""So many bytes of a file are read at once: of lines the rest comes with the next read; a JSON file that is larger is left."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """The part of a file that was read: `size` bytes and `lines` lines of that inode; of a whole file, as it was at `changed`."""

    inode: int
    size: int = 0
    lines: int = 0
    changed: int = 0
    given: bool = False


class FilesSource:
    """Gives each JSON file whole whenever it has changed, and of JSON lines those that were appended since the last read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[Path, _Mark] = {}

    async def read(self) -> Sequence[Arrived]:
        """Returns what is new; nothing where there is no such folder or file yet.

        Raises the `OSError` of a file that cannot be read once no other has any news.
        """
        return await anyio.to_thread.run_sync(self._read)

    def _read(self) -> list[Arrived]:
        arrived: list[Arrived] = []
        failed: OSError | None = None
        for path in _files(self._path):
            try:
                arrived += self._news(path)
            except OSError as error:
                failed = error
        if failed is not None and not arrived:
            raise failed
        return arrived

    def _news(self, path: Path) -> list[Arrived]:
        try:
            with path.open("rb") as file:
                return self._lines(path, file) if path.suffix.lower() in LINES else self._whole(path, file)
        except FileNotFoundError:  # it went while it was looked for
            return []

    def _whole(self, path: Path, file: BufferedReader) -> list[Arrived]:
        """The file once it parses; one that does not, when it stands unchanged at the next look."""
        status = os.fstat(file.fileno())
        last = self._seen.get(path)
        now = _Mark(status.st_ino, status.st_size, changed=status.st_mtime_ns)
        if status.st_size > LONGEST or last == replace(now, given=True):
            return []
        content = file.read()
        given = last == now or _parses(content)
        self._seen[path] = replace(now, given=given)
        return [Arrived(_text(content), str(path))] if given else []

    def _lines(self, path: Path, file: BufferedReader) -> list[Arrived]:
        """The lines that are whole: the last one may still be being written."""
        status = os.fstat(file.fileno())
        mark = self._seen.get(path)
        if mark is None or mark.inode != status.st_ino or mark.size > status.st_size:
            mark = _Mark(status.st_ino)
        file.seek(mark.size)
        *lines, rest = file.read(LONGEST).split(b"\n")
        if _parses(rest):
            lines, rest = [*lines, rest], b""
        self._seen[path] = _Mark(status.st_ino, file.tell() - len(rest), mark.lines + len(lines))
        numbered = enumerate(lines, mark.lines + 1)
        return [Arrived(_text(line), f"{path}:{number}") for number, line in numbered if line.strip()]


def _parses(content: bytes) -> bool:
    """Returns whether it is whole: no part of an object or list is JSON."""
    try:
        return isinstance(json.loads(content), dict | list)
    except (ValueError, RecursionError):
        return False


def _files(path: Path) -> list[Path]:
    """The file, or those of the folder, in the order of their names."""
    if not path.is_dir():
        return [path] if path.exists() else []
    files = (Path(entry) for entry in os.scandir(path) if entry.is_file())
    return sorted(path for path in files if path.suffix.lower() in (*WHOLE, *LINES))


def _text(content: bytes) -> str:
    return content.decode("utf-8-sig", "replace")
