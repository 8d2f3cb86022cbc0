"""JSON that does not fit into memory: the elements of its long lists one by one, everything else as it stands."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.parsing import ESCAPED_HALF, distinct, whole_characters

CUT_OFF = "it is cut off"
CHUNK = 1 << 18
LONGEST = 1 << 26
"""So many characters may one element have, or one value beside the lists."""
MOST_VALUES = 1 << 21
"""So many values may one element hold: `[],[],[]…` takes thirty times its own size in memory."""
_DECODER = json.JSONDecoder()
_DISTINCT = json.JSONDecoder(object_pairs_hook=distinct)
_SPACE = re.compile(r"[ \t\n\r]*")
_MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[,\[{]', re.DOTALL)
_FEW = 1000
_NEAR_END = 32
"""A fault so near to the end of what was read may be only that more is to come (`tru`, `-Infin`, a cut escape)."""


class Readable(Protocol):
    """Text that is read piece by piece."""

    def read(self, size: int, /) -> str:
        """The next characters, at most so many; "" at the end."""
        ...


class Piece(NamedTuple):
    """A value and where it stands: `path` is dotted; an element of a list that is streamed has the list's."""

    path: str
    value: JsonValue


def pieces(text: Readable, where: str, *, streamed: frozenset[str]) -> Iterator[Piece]:
    """The values of one JSON document; the lists whose path is `streamed` element by element ("" is the document itself).

    Objects on the way to such a list are entered: their other values come under their own path. Raises
    `InvalidRecordError` naming the place where it is no JSON, is cut off, or is longer than can be held.
    """
    return _Stream(text, where, streamed).document()


class _Stream:
    def __init__(self, text: Readable, where: str, streamed: frozenset[str]) -> None:
        self._text = text
        self._where = where
        self._streamed = streamed
        self._buffer = ""
        self._at = 0
        self._passed = 0
        self._ended = False
        self._began = 0
        self._beside = [0, 0]  # of what stands beside the lists, and is held until the end: characters and values

    def document(self) -> Iterator[Piece]:
        self._more()
        self._buffer = self._buffer.removeprefix("\ufeff")
        yield from self._value("")
        if self._peek():
            raise self._fault("there is more text after the document")

    def _value(self, path: str) -> Iterator[Piece]:
        first = self._peek()
        if first == "[" and path in self._streamed:
            yield from self._elements(path)
        elif first == "{" and any(name.startswith(f"{path}." if path else "") and name for name in self._streamed):
            yield from self._members(path)
        else:
            value = self._decoded()
            self._vet_beside()
            yield Piece(path, value)

    def _vet_beside(self) -> None:
        """Refuses a document in which many values beside the lists, each small enough, come to more than one may."""
        self._beside[0] += self._at - self._began
        self._beside[1] += values_in(self._buffer, self._began, self._at)
        if self._beside[0] > LONGEST or self._beside[1] > MOST_VALUES:
            raise self._fault(f"more than {LONGEST} characters or {MOST_VALUES} values stand beside its samples")

    def _members(self, path: str) -> Iterator[Piece]:
        self._take("{")
        if self._peek() == "}":
            self._take("}")
            return
        seen: set[JsonValue] = set()
        while True:
            if self._peek() != '"':
                raise self._fault("a key is missing")
            key = self._decoded()
            if key in seen:
                raise self._fault(f"duplicate key {key!r}")
            seen.add(key)
            self._take(":")
            yield from self._value(f"{path}.{key}" if path else str(key))
            if not self._goes_on("}"):
                return

    def _elements(self, path: str) -> Iterator[Piece]:
        self._take("[")
        if self._peek() == "]":
            self._take("]")
            return
        while True:
            yield Piece(path, self._decoded())
            if not self._goes_on("]"):
                return

    def _goes_on(self, closing: str) -> bool:
        """Returns whether another follows; what closes is taken."""
        if self._peek() == closing:
            self._take(closing)
            return False
        self._take(",")
        return True

    def _peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            space = _SPACE.match(self._buffer, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise self._fault(f"{wanted!r} is missing" if self._peek() else CUT_OFF)
        self._at += 1

    def _decoded(self) -> JsonValue:
        """The next value whole; reads on, twice as much each time, while it is not whole."""
        self._peek()
        while True:
            try:
                value, end = _DISTINCT.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if not self._may_go_on(error) or not self._doubled():
                    raise self._fault(CUT_OFF if self._ended and self._is_open(error) else error.msg) from None
            except RecursionError:
                raise self._fault("nested too deeply") from None
            except ValueError as error:  # a number of more digits than Python reads, a key that comes twice
                raise self._fault(str(error)) from None
            else:
                if end < len(self._buffer) or not self._more():
                    self._began, self._at = self._at, end
                    return whole_characters(value) if ESCAPED_HALF.search(self._buffer, self._began, end) else value

    def _is_open(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos >= len(self._buffer) - _NEAR_END

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return not self._ended and self._is_open(error)

    def _doubled(self) -> bool:
        """Reads as much again as is held of the value; false at the end."""
        held = len(self._buffer) - self._at
        if held > LONGEST:
            raise self._fault(f"one value is longer than {LONGEST} characters")
        self._vet_number()
        return self._more(min(max(CHUNK, held), LONGEST + 1 - held))

    def _vet_number(self) -> None:
        """Refuses what holds too many values, before they are made: those that stand in texts do not count."""
        if len(self._buffer) - self._at > MOST_VALUES and more_values_than(MOST_VALUES, self._buffer, self._at):
            raise self._fault(f"one value holds more than {MOST_VALUES} values")

    def _more(self, size: int = CHUNK) -> bool:
        if self._ended:
            return False
        read = self._text.read(size)
        self._passed += self._at
        self._buffer = self._buffer[self._at :] + read
        self._at = 0
        self._ended = not read
        return not self._ended

    def _fault(self, reason: str) -> InvalidRecordError:
        return InvalidRecordError(f"no JSON: {reason} (character {self._passed + self._at + 1})", where=self._where)


def glimpse(text: str, *, depth: int = 4) -> JsonValue:
    """Returns what can be seen of a JSON document in its first characters: the cut-off values as far as they go; None where nothing can."""
    try:
        return _value_at(text.removeprefix("\ufeff"), 0, depth)[0]
    except (ValueError, RecursionError):
        return None


def _value_at(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    """The value at that place and where it ends; what is cut off ends with the text."""
    at = _past(text, at)
    try:
        return _DECODER.raw_decode(text, at)
    except (json.JSONDecodeError, RecursionError):
        if text[at : at + 1] not in ("{", "[") or depth == 0:
            return None, len(text)
    return _seen_object(text, at + 1, depth) if text[at] == "{" else _seen_list(text, at + 1, depth)


def _seen_object(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    members: dict[str, JsonValue] = {}
    while (at := _past(text, at, also=",")) < len(text) and text[at] == '"':
        try:
            key, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError:
            break
        value, at = _value_at(text, _past(text, at) + 1, depth - 1)
        members[key] = value
    return members, len(text)


def _seen_list(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    items: list[JsonValue] = []
    while (at := _past(text, at, also=",")) < len(text):
        value, at = _value_at(text, at, depth - 1)
        items.append(value)
    return items, len(text)


def _past(text: str, at: int, *, also: str = "") -> int:
    while at < len(text) and text[at] in " \t\r\n" + also:
        at += 1
    return at


def more_values_than(most: int, text: str, at: int = 0) -> bool:
    """Returns whether the JSON text holds more values than that; what stands in its strings does not count."""
    if sum(text.count(mark, at) for mark in ",[{") <= most:
        return False
    marks = (match for match in _MARKS.finditer(text, at) if match[0] in ",[{")
    return next(islice(marks, most, None), None) is not None


def values_in(text: str, first: int, last: int) -> int:
    """About how many values that part of a JSON text holds; exactly, where they are many."""
    rough = sum(text.count(mark, first, last) for mark in ",[{")
    return rough if rough < _FEW else sum(match[0] in ",[{" for match in _MARKS.finditer(text, first, last))


def from_text(text: str) -> Readable:
    """A text that is there already, to be read as a file is."""
    return io.StringIO(text)
