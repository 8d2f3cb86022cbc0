"""One entry set in a JSON settings file whose every other character stays: comments, order, indentation, trailing commas."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import BadInputError

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_TEXT = re.compile(r'(?<!\\)"(?:[^"\\\n]|\\.)*+"')
_WORD = re.compile(r"[^\s,\]}/\"\[{:]+")
_REMARK = re.compile(r"[ \t]*(?://[^\n]*|/\*(?:[^*\n]|\*(?!/))*\*/)")
"""A comment on the line on which a member ends."""
_COLON = re.compile(":")
DEEPEST = 200


@dataclass(slots=True)
class _Object:
    """An object in the text: where its braces are, and of each member where its value begins and ends."""

    begin: int
    end: int = 0
    values: Json = field(default_factory=dict[str, JsonValue])
    members: dict[str, tuple[int, int, _Object | None]] = field(
        default_factory=dict[str, "tuple[int, int, _Object | None]"]
    )
    ends_with_comma: bool = False
    last: int = 0
    """Where its last member ends, its comma included."""


class _Reader:
    """Finds objects and their members in JSON with comments and trailing commas."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def whole(self) -> _Object:
        """The object that the text is; raises `ValueError` where it is none."""
        self._skip()
        _, found = self._value(0)
        self._skip()
        if found is None or self.at != len(self.text):
            raise ValueError("it is no JSON object")
        return found

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise ValueError(f"line {self.text.count(chr(10), 0, self.at) + 1}")
        self.at = found.end()
        return found[0]

    def _value(self, depth: int) -> tuple[JsonValue, _Object | None]:
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        match self._next():
            case "{":
                found = self._object(depth)
                return found.values, found
            case "[":
                return self._list(depth), None
            case '"':
                return json.loads(self._match(_TEXT)), None
            case _:
                return json.loads(self._match(_WORD)), None

    def _object(self, depth: int) -> _Object:
        found = _Object(self.at)
        self.at += 1
        self._skip()
        while self._next() != "}":
            name: str = json.loads(self._match(_TEXT))
            self._skip()
            self._match(_COLON)
            self._skip()
            begin = self.at
            found.values[name], value = self._value(depth + 1)
            found.members[name] = (begin, self.at, value)
            found.last = self.at
            found.ends_with_comma = self._comma("}")
            if found.ends_with_comma:
                found.last = self.at
                self._skip()
        found.end = self.at
        self.at += 1
        return found

    def _list(self, depth: int) -> list[JsonValue]:
        values: list[JsonValue] = []
        self.at += 1
        self._skip()
        while self._next() != "]":
            values.append(self._value(depth + 1)[0])
            if self._comma("]"):
                self._skip()
        self.at += 1
        return values

    def _comma(self, closing: str) -> bool:
        self._skip()
        if self._next() == ",":
            self.at += 1
            return True
        if self._next() != closing:
            raise ValueError(f"line {self.text.count(chr(10), 0, self.at) + 1}")
        return False


def with_json_entry(text: str, table: str, name: str, entry: Json) -> str:
    """The text with that entry in that table; raises `BadInputError` where it is no JSON object, or the table none."""
    if not text.strip("\ufeff \t\r\n"):
        return json.dumps({table: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    root = _read(text)
    after = _put(text, root, table, name, entry)
    servers = root.values.setdefault(table, {})
    if isinstance(servers, dict):
        servers[name] = entry
    if _read(after).values != root.values:
        raise BadInputError("it is written in a way that this program does not change.")
    return after


def _read(text: str) -> _Object:
    try:
        return _Reader(text).whole()
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"it cannot be read as JSON ({error}).") from None


def _put(text: str, root: _Object, table: str, name: str, entry: Json) -> str:
    if table not in root.members:
        return _added(text, root, table, {name: entry}, 1)
    _, _, servers = root.members[table]
    if servers is None:
        raise BadInputError(f"{table} is no object.")
    if name not in servers.members:
        return _added(text, servers, name, entry, 2)
    begin, end, _ = servers.members[name]
    return text if servers.values[name] == entry else text[:begin] + _indented(entry, 2, _unit(text)) + text[end:]


def _added(text: str, within: _Object, name: str, value: JsonValue, depth: int) -> str:
    unit = _unit(text)
    member = f"\n{unit * depth}{json.dumps(name)}: {_indented(value, depth, unit)}"
    if not within.members:
        return f"{text[: within.begin + 1]}{member}\n{unit * (depth - 1)}{text[within.end :]}"
    comma = "" if within.ends_with_comma else ","
    remark = _REMARK.match(text, within.last)
    at = within.last if remark is None else min(remark.end(), within.end)
    end = "" if "\n" in text[at : within.end] else f"\n{unit * (depth - 1)}"
    return f"{text[: within.last]}{comma}{text[within.last : at]}{member}{end}{text[at:]}"


def _unit(text: str) -> str:
    """The file's own indentation."""
    found = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return found[1] if found else "  "


def _indented(value: JsonValue, depth: int, unit: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{unit * depth}")
