"""Files of other tools, opened within bounds: text, JSON lines, the members of an archive. Nothing is unpacked to disk."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import IO, cast

from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError, legible
from minions_evals_mcp.interop.logs.json_stream import LONGEST, Piece, Readable, from_text, pieces

HEAD = 1 << 16
MOST_MEMBERS = 1_000_000
MOST_UNPACKED = 1 << 30
MOST_RATIO = 200
"""An archive may hold a gigabyte, or so many times its own size: more is a bomb."""
ZSTD = 93
_LOCAL = struct.Struct("<4s5H3L2H")


def head_of(path: Path) -> bytes:
    """The file's first bytes; raises `BadInputError` where it cannot be read."""
    with legible(path), path.open("rb") as file:
        return file.read(HEAD)


def json_pieces(path: Path, *, streamed: frozenset[str]) -> Iterator[Piece]:
    """The values of the file's JSON document, as `pieces` gives them."""
    with legible(path), path.open(encoding="utf-8-sig") as text:
        yield from pieces(cast("Readable", text), str(path), streamed=streamed)


def parted(path: Path, lists: frozenset[str]) -> tuple[dict[str, JsonValue], Iterator[Piece]]:
    """Returns what the document says beside its long lists, wherever that stands, and their elements, which are read after it."""
    head = {piece.path: piece.value for piece in json_pieces(path, streamed=lists) if piece.path not in lists}
    return head, (piece for piece in json_pieces(path, streamed=lists) if piece.path in lists)


def json_lines(path: Path) -> Iterator[tuple[str, JsonValue]]:
    """Each line's value and where it stands; blank lines are passed over."""
    with legible(path), path.open(encoding="utf-8-sig") as text:
        number = 0
        while line := text.readline(LONGEST + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > LONGEST:
                raise InvalidRecordError(f"the line is longer than {LONGEST} characters", where=where)
            if line.strip():
                yield where, whole_json(line, where)


def whole_json(text: str, where: str) -> JsonValue:
    """The value that the text is; raises `InvalidRecordError` naming the place where it is none."""
    (piece,) = pieces(from_text(text), where, streamed=frozenset())
    return piece.value


class Archive:
    """A ZIP whose members were looked at before any is unpacked: their names, number and size."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
            self._members = {info.filename: info for info in self._zip.infolist()}
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise InvalidRecordError(f"no whole archive: {error}", where=str(path)) from None
        self._vet()

    @property
    def names(self) -> list[str]:
        """The members' names, in the archive's order."""
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def json(self, name: str) -> JsonValue:
        """The member's JSON value; raises `InvalidRecordError` naming the member that is damaged."""
        where = self.place(name)
        try:
            text = self._unpacked(self._members[name], where).decode()
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            UnicodeDecodeError,
        ) as error:
            raise InvalidRecordError(f"the member is damaged: {error}", where=where) from None
        return whole_json(text, where)

    def place(self, name: str) -> str:
        """Returns where the member stands, in words."""
        return f"{self._path}:{name}"

    def _vet(self) -> None:
        infos = self._zip.infolist()
        if len(infos) > MOST_MEMBERS:
            raise self._refusal("", f"holds more than {MOST_MEMBERS} members")
        for info in infos:
            parts = PurePosixPath(info.filename.replace("\\", "/"))
            if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[:1] or "\0" in info.filename:
                raise self._refusal(info.filename, "leads out of the archive")
            if info.file_size > LONGEST:
                raise self._refusal(info.filename, f"is larger than {LONGEST} bytes when unpacked")
        unpacked, packed = sum(info.file_size for info in infos), self._path.stat().st_size
        if unpacked > max(MOST_UNPACKED, MOST_RATIO * packed):
            raise self._refusal("", f"would unpack to {unpacked} bytes from {packed}")
        if len(infos) != len(self._members):
            raise self._refusal("", "names a member twice")

    def _refusal(self, name: str, reason: str) -> InvalidRecordError:
        return InvalidRecordError(
            f"the archive is refused: {name!r} {reason}" if name else f"the archive is refused: it {reason}",
            where=str(self._path),
        )

    def _unpacked(self, info: zipfile.ZipInfo, where: str) -> bytes:
        """The member's bytes; never more than it says that it has."""
        if info.compress_type == ZSTD:
            content = self._unpacked_zstd(info, where)
        else:
            with self._zip.open(info) as member:
                content = member.read(info.file_size + 1)
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise zipfile.BadZipFile("its size or checksum is another")
        return content

    def _unpacked_zstd(self, info: zipfile.ZipInfo, where: str) -> bytes:
        """As `_unpacked`; Python's own library reads this method from 3.14 on."""
        if find_spec("zstandard") is None:
            raise UnsupportedError(
                f"{where}: the member is packed with zstd, which needs the package zstandard.",
                remedy="Install it with: pip install 'minions-evals-mcp[logs]'",
            )
        import zstandard  # noqa: PLC0415  an extra: imported where it is used

        self._file.seek(info.header_offset)
        local = self._file.read(_LOCAL.size)
        if len(local) < _LOCAL.size or local[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile("its header is missing")
        *_, name_size, extra_size = _LOCAL.unpack(local)
        self._file.seek(name_size + extra_size, io.SEEK_CUR)
        packed = self._file.read(info.compress_size)
        try:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True) as unpacking:
                return unpacking.read(info.file_size + 1)
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None


@contextmanager
def archive(path: Path) -> Generator[Archive]:
    """The archive, opened; raises `InvalidRecordError` where it is none, or is made to harm."""
    with legible(path), path.open("rb") as file:
        yield Archive(path, file)
