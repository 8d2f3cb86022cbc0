"""The members of a ZIP one by one, however many there are: its directory is read entry by entry, and vetted before any is unpacked.

Python's `zipfile` holds all entries at once, about a kilobyte for each.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError, legible
from minions_evals_mcp.interop.logs.files import whole_json
from minions_evals_mcp.interop.logs.json_stream import LONGEST
from minions_evals_mcp.interop.logs.seen_ids import SeenIds

MOST_MEMBERS = 4_000_000
MOST_UNPACKED = 1 << 30
MOST_RATIO = 200
"""An archive may hold a gigabyte, or so many times its own size: more is a bomb."""
STORED, DEFLATED, ZSTD = 0, 8, 93
ENCRYPTED, UTF_8 = 0x1, 0x800
_LOCAL = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END_64_AT = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LONGEST_END = _END_64_AT.size + _END.size + 0xFFFF
_IN_64 = 0xFFFFFFFF
"""Stands where a number is too large for its four bytes: then it is in the entry's `extra`."""


class Member(NamedTuple):
    """What the directory says of a member: its sizes in bytes, and where it begins."""

    name: str
    method: int
    flags: int
    checksum: int
    packed: int
    size: int
    at: int


class _DamagedError(Exception):
    """What is no whole archive, or no whole member, and why."""


class Archive:
    """A ZIP whose members were looked at before any is unpacked: their names, number and size."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file
        try:
            self._directory = _directory(file)
            self._vet()
        except (_DamagedError, struct.error, ValueError) as error:
            raise InvalidRecordError(f"no whole archive: {error}", where=str(path)) from None

    def __iter__(self) -> Iterator[Member]:
        """Yields the members in the archive's order."""
        at, end = self._directory
        while at < end:
            self._file.seek(at)
            member, size = _entry(self._file)
            at += size
            yield member

    def named(self, *names: str) -> Member | None:
        """The first of those names under which there is a member."""
        there = {member.name: member for member in self if member.name in names}
        return next((there[name] for name in names if name in there), None)

    def json(self, member: Member) -> JsonValue:
        """The member's JSON value; raises `InvalidRecordError` naming the member that is damaged."""
        where = self.place(member)
        try:
            text = self._unpacked(member, where).decode()
        except (_DamagedError, zlib.error, struct.error, UnicodeDecodeError) as error:
            raise InvalidRecordError(f"the member is damaged: {error}", where=where) from None
        return whole_json(text, where)

    def place(self, member: Member) -> str:
        """Returns where the member stands, in words."""
        return f"{self._path}:{member.name}"

    def _vet(self) -> None:
        number, unpacked, names = 0, 0, SeenIds()
        for number, member in enumerate(self, 1):  # noqa: B007  their number
            self._vet_member(member)
            if not names.add(member.name):
                raise self._refusal(member.name, "is named twice")
            unpacked += member.size
        if number > MOST_MEMBERS:
            raise self._refusal("", f"holds more than {MOST_MEMBERS} members")
        size = self._path.stat().st_size
        if unpacked > max(MOST_UNPACKED, MOST_RATIO * size):
            raise self._refusal("", f"would unpack to {unpacked} bytes from {size}")

    def _vet_member(self, member: Member) -> None:
        parts = PurePosixPath(member.name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[:1] or "\0" in member.name:
            raise self._refusal(member.name, "leads out of the archive")
        if max(member.size, member.packed) > LONGEST:
            raise self._refusal(member.name, f"is larger than {LONGEST} bytes")

    def _refusal(self, name: str, reason: str) -> InvalidRecordError:
        return InvalidRecordError(
            f"the archive is refused: {repr(name) if name else 'it'} {reason}", where=str(self._path)
        )

    def _unpacked(self, member: Member, where: str) -> bytes:
        """The member's bytes; never more than it says that it has."""
        packed = self._packed(member)
        if member.method == DEFLATED:
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.size + 1)
        elif member.method == ZSTD:
            content = _of_zstd(packed, member, where)
        elif member.method == STORED:
            content = packed
        else:
            raise _DamagedError(f"it is packed by method {member.method}, which is not read")
        if len(content) != member.size or zlib.crc32(content) != member.checksum:
            raise _DamagedError("its size or checksum is another")
        return content

    def _packed(self, member: Member) -> bytes:
        """The member's bytes as they are in the file."""
        if member.flags & ENCRYPTED:
            raise _DamagedError("it is encrypted")
        if member.at > self._path.stat().st_size:
            raise _DamagedError("its header is missing")
        self._file.seek(member.at)
        local = self._file.read(_LOCAL.size)
        if len(local) < _LOCAL.size or local[:4] != b"PK\x03\x04":
            raise _DamagedError("its header is missing")
        *_, name_size, extra_size = _LOCAL.unpack(local)
        self._file.seek(name_size + extra_size, io.SEEK_CUR)
        return self._file.read(member.packed)


def _of_zstd(packed: bytes, member: Member, where: str) -> bytes:
    if find_spec("zstandard") is None:
        raise UnsupportedError(
            f"{where}: the member is packed with zstd, which needs the package zstandard.",
            remedy="Install it with: pip install 'minions-evals-mcp[logs]'",
        )
    import zstandard  # noqa: PLC0415  an extra: imported where it is used

    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True) as unpacking:
            return unpacking.read(member.size + 1)
    except zstandard.ZstdError as error:
        raise _DamagedError(str(error)) from None


def _directory(file: IO[bytes]) -> tuple[int, int]:
    """Returns where the directory begins and ends."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST_END))
    tail = file.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0:
        raise _DamagedError("its directory is missing")
    *_, length, first, _ = _END.unpack_from(tail, place)
    if place >= _END_64_AT.size and tail[place - _END_64_AT.size :].startswith(b"PK\x06\x07"):
        file.seek(_END_64_AT.unpack_from(tail, place - _END_64_AT.size)[2])
        *_, length, first = _END_64.unpack(file.read(_END_64.size))
    if first + length > size:
        raise _DamagedError("its directory is cut off")
    return first, first + length


def _entry(file: IO[bytes]) -> tuple[Member, int]:
    """The entry that begins where the file is read, and how long it is."""
    raw = file.read(_ENTRY.size)
    if len(raw) < _ENTRY.size or raw[:4] != b"PK\x01\x02":
        raise _DamagedError("its directory is damaged")
    (
        _, _, _, flags, method, _, _, checksum, packed, size, name_size, extra_size, comment_size, _, _, _, at,
    ) = _ENTRY.unpack(raw)  # fmt: skip
    name = file.read(name_size).decode("utf-8" if flags & UTF_8 else "cp437")
    size, packed, at = _whole_numbers(file.read(extra_size), size, packed, at)
    return Member(name, method, flags, checksum, packed, size, at), _ENTRY.size + name_size + extra_size + comment_size


def _whole_numbers(extra: bytes, *numbers: int) -> tuple[int, ...]:
    """The numbers, those that are too large for four bytes as the entry's extra field has them."""
    if _IN_64 not in numbers:
        return numbers
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            longer = iter(value for (value,) in struct.iter_unpack("<Q", extra[at + 4 : at + 4 + length // 8 * 8]))
            return tuple(next(longer, _IN_64) if number == _IN_64 else number for number in numbers)
        at += 4 + length
    raise _DamagedError("a size is missing in its directory")


@contextmanager
def archive(path: Path) -> Generator[Archive]:
    """The archive, opened; raises `InvalidRecordError` where it is none, or is made to harm."""
    with legible(path), path.open("rb") as file:
        yield Archive(path, file)
