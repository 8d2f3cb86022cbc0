"""Rows that belong together by a key, in files whose rows may lie far apart: put together once the last one was read."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Generic, NamedTuple, Self, TypeVar
from zlib import crc32

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.json_stream import LONGEST
from minions_evals_mcp.interop.logs.seen_ids import CountedIds

T = TypeVar("T")
MOST_HELD = 1 << 25
"""So many bytes of rows wait in memory for others of their key; more wait in files."""
FILES = 64
BESIDE = 200
"""About so many bytes a row that waits takes beside itself."""


class LogRow(NamedTuple, Generic[T]):
    """A row: where it stands, what it belongs to (None: it is alone), and what it says."""

    where: str
    key: str | None
    value: T


class Group(NamedTuple, Generic[T]):
    """The rows of one key in their order, and where the last of them stands."""

    where: str
    key: str | None
    values: list[T]


def gathered(rows: Callable[[], Iterator[LogRow[T]]], awaited: CountedIds | None = None) -> Iterator[Group[T]]:
    """The groups, each once its last row was read; `rows` are read twice, or once where it is known how many rows are awaited of each key.

    Where many wait at once, those that are left come at the end, in another order. Raises `InvalidRecordError` for a
    group that no memory should hold.
    """
    if awaited is None:
        awaited = CountedIds()
        for row in rows():
            if row.key is not None:
                awaited.add(row.key)
    with _Waiting() as waiting:
        for row in rows():
            if row.key is None or (wanted := awaited.count(row.key)) == 1:
                yield Group(row.where, row.key, [row.value])
            elif (group := waiting.take(row.key, row, wanted)) is not None:
                yield group
        yield from waiting.rest()


class _Packed(NamedTuple):
    where: str
    content: bytes


class _Waiting:
    """Rows that wait for others of their key: in memory while they are few, else in files, by their key."""

    def __init__(self) -> None:
        self._groups = _Groups()
        self._files: list[IO[bytes]] = []
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def take(self, key: str, row: LogRow[Any], wanted: int) -> Group[Any] | None:
        """Takes the row; the group where all `wanted` rows of it are here."""
        packed = _Packed(row.where, pickle.dumps(row.value))
        if self._files:
            self._put(key, packed)
            return None
        if self._groups.add(key, packed) == wanted:
            return self._groups.take(key)
        if self._groups.size > MOST_HELD:
            self._put_away()
        return None

    def rest(self) -> Iterator[Group[Any]]:
        """The groups that are left: all, where they wait in files."""
        yield from self._groups.all_taken()
        for file in self._files:
            groups = _Groups()
            file.seek(0)
            while file.peek(1):  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a temporary file is buffered
                key, where, content = pickle.load(file)  # noqa: S301  we wrote it, and nobody else can
                groups.add(key, _Packed(where, content))
            yield from groups.all_taken()

    def _put_away(self) -> None:
        self._files = [self._open.enter_context(TemporaryFile()) for _ in range(FILES)]  # noqa: SIM115  closed with the rest
        for key, packed in self._groups.rows():
            self._put(key, packed)
        self._groups = _Groups()

    def _put(self, key: str, packed: _Packed) -> None:
        pickle.dump((key, *packed), self._files[crc32(key.encode("utf-8", "surrogatepass")) % FILES])


class _Groups:
    """Packed rows by their key."""

    def __init__(self) -> None:
        self._held: dict[str, list[_Packed]] = defaultdict(list)
        self._sizes: dict[str, int] = defaultdict(int)
        self.size = 0

    def add(self, key: str, packed: _Packed) -> int:
        """Adds the row; how many its group has. Raises `InvalidRecordError` where they are too large together."""
        size = len(packed.content) + BESIDE
        self._held[key].append(packed)
        self._sizes[key] += size
        self.size += size
        if self._sizes[key] > LONGEST:
            raise InvalidRecordError(
                f"the rows of one sample, {key[:60]!r}, take more than {LONGEST} bytes", where=packed.where
            )
        return len(self._held[key])

    def take(self, key: str) -> Group[Any]:
        """The group, which waits no more."""
        self.size -= self._sizes.pop(key)
        packed = self._held.pop(key)
        return Group(packed[-1].where, key, [pickle.loads(row.content) for row in packed])  # noqa: S301  we wrote it

    def all_taken(self) -> Iterator[Group[Any]]:
        """All groups one by one, which wait no more."""
        for key in list(self._held):
            yield self.take(key)

    def rows(self) -> Iterator[tuple[str, _Packed]]:
        """Every row with its key."""
        return ((key, packed) for key, rows in self._held.items() for packed in rows)
