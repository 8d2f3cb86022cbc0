"""A folder with a file of JSON lines for each addressee: the plainest way to be told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

import anyio.to_thread

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record


class JsonLinesFolder:
    """Appends each record as a line of `ADDRESSEE.jsonl`, on the disk before it counts as told."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def tell(self, record: Record[Fields], *, key: str, addressee: str) -> None:
        """Appends `{key, addressee, …the record}`; after a crash the same line may stand there twice, under the same key."""
        line = json.dumps({"key": key, "addressee": addressee, **record.wire()}, ensure_ascii=False)
        await anyio.to_thread.run_sync(_append, self.file_of(addressee), line.encode())

    def file_of(self, addressee: str) -> Path:
        """The file of that addressee; characters that a file's name cannot hold are written as %XX."""
        return self._folder / f"{quote(addressee, safe='@:+')}.jsonl"


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            torn = file.read(1) != b"\n"  # a line that was cut off by a crash ends here, and not in the next one
            line = b"\n" + line if torn else line
        file.write(line + b"\n")
        file.flush()
        os.fsync(file.fileno())
