"""Files packed with gzip, read as what they hold: unpacked beside the system's temporary files, up to a limit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from minions_evals_mcp.errors import BadInputError, EvalsError, legible

GZIP = b"\x1f\x8b"
MOST = 2 << 30
"""So many bytes may a packed file hold: a few kilobytes of gzip can hold a whole disk."""
_BLOCK = 1 << 20


@contextmanager
def unpacked(path: Path) -> Generator[Path]:
    """The file, or a file with what it holds, named as it is without `.gz`, which is gone afterwards. Errors name the packed one.

    Raises `BadInputError` for a packed file that is damaged, or holds more than may be unpacked.
    """
    if not is_packed(path):
        yield path
        return
    from minions_evals_mcp.temporary_folders import temporary_folder  # noqa: PLC0415  few files are packed

    with temporary_folder("unpacked") as folder:
        plain = folder / (path.name.removesuffix(".gz") or path.name)
        _unpack(path, plain)
        try:
            yield plain
        except EvalsError as error:
            error.message_text = error.message_text.replace(str(plain), str(path))
            error.remedy_text = error.remedy_text.replace(str(plain), str(path))
            raise


def is_packed(path: Path) -> bool:
    """Whether the file is packed with gzip, by its first bytes; no for one that is not there."""
    if not path.is_file():
        return False
    with legible(path), path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


def _unpack(path: Path, plain: Path) -> None:
    left = MOST
    try:
        with legible(path), gzip.open(path) as packed, plain.open("wb") as out:
            while block := packed.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise BadInputError(
                        f"{path} holds more than {MOST >> 20} MB.",
                        remedy="Unpack it with `gunzip -k` and import that file.",
                    )
                out.write(block)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInputError(f"{path} is damaged: {error}.", remedy="Get a complete copy.") from None
