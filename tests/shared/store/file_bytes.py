"""All that the disk holds of a store."""

from __future__ import annotations

from pathlib import Path


def bytes_of(path: Path) -> bytes:
    """The bytes of the file and of its log."""
    beside = [path.with_name(path.name + end) for end in ("", "-wal", "-journal")]
    return b"".join(file.read_bytes() for file in beside if file.exists())
