"""Files of other tools, opened within bounds: text, and JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError, legible
from minions_evals_mcp.interop.logs.json_stream import LONGEST, Piece, Readable, from_text, pieces

HEAD = 1 << 16


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
