"""Text to plain values, YAML or JSON: bounded in depth and size, and a key that comes twice is refused, not dropped."""

from __future__ import annotations

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import yaml
from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError

ROOTS = ("records", "minions")
"""Names of the list of records in a suite file; the second is the Minions SDK's, and older."""
MOST_DEPTH = 100
"""A deeper nesting overflows the stack of libyaml's composer, and the process dies."""
MOST_ALIASED = 10_000_000
"""So many characters may a file's aliases stand for: a few lines of them can stand for gigabytes."""
MOST_VALUES = 1_000_000
"""So many lines, commas and openings may a document have that is read whole."""

NO_NAMES = {
    "on": "true",
    "yes": "true",
    "true": "true",
    "off": "false",
    "no": "false",
    "false": "false",
    "null": "null",
}
"""What YAML 1.1 reads a bare word as."""


class _Yaml12(yaml.CSafeLoader):
    """Reads bare words as YAML 1.2 does: yes, on, 12:30 and 2026-01-31 are texts, 010 is ten."""


_Yaml12.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+|\.[0-9]+[eE][-+]?[0-9]+"
        r"|\.(inf|Inf|INF))|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("merge", r"<<", "<"),
):
    _Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), [*_first, ""])


def _int12(loader: _Yaml12, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)


_Yaml12.add_constructor("tag:yaml.org,2002:int", _int12)


def vet_size(text: str, what: str, remedy: str, *, where: str) -> None:
    """Refuses a document of more values than are held at once, before they are made: each costs a hundred times its characters."""
    if text.count("\n") + text.count(",") + text.count("{") + text.count("[") > MOST_VALUES:
        raise InvalidRecordError(f"the {what} has more than {MOST_VALUES} lines or values", where=where, remedy=remedy)


def parse_yaml(text: str, path: str, *, yaml12: bool = False) -> object:
    """The value that the text is; raises `InvalidRecordError` with file and line. Bare words are those of YAML 1.1, or 1.2."""
    try:
        _Vetting(path, yaml12=yaml12).vet(text)
        return yaml.load(text, Loader=_Yaml12 if yaml12 else yaml.CSafeLoader)  # noqa: S506  a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidRecordError(f"no YAML: {error.problem}", where=f"{path}:{line}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidRecordError(f"no YAML: {error.reason}", where=f"{path}:{line}") from None
    except ValueError as error:  # 2026-13-31 looks like a date and is none
        raise InvalidRecordError(f"no YAML: {error}", where=path) from None


def parse_json(text: str, path: str, *, line: int = 1, is_log: bool = False) -> object:
    """The value that the text is, which begins at that line of the file; raises `InvalidRecordError` with file and line.

    Half of a surrogate pair, which no text can hold, is refused; in a log, whose writer cut a text, it is read as U+FFFD.
    """
    try:
        value = _DISTINCT.decode(text)
        if ESCAPED_HALF.search(text):
            value = whole_characters(cast("JsonValue", value)) if is_log else _of_texts(value)
    except json.JSONDecodeError as error:
        reason, at = f"{error.msg} at column {error.colno}", line + error.lineno - 1
    except UnicodeEncodeError:
        reason, at = "it holds half of a surrogate pair, which no text can hold", line
    except ValueError as error:
        reason, at = (_TOO_LONG if str(error).startswith("Exceeds the limit") else str(error)), line
    except RecursionError:
        reason, at = "nested too deeply", line
    else:
        return value
    raise InvalidRecordError(f"no JSON: {reason}", where=f"{path}:{at}")


ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_TOO_LONG = "a whole number has more than 4,300 digits"


def _of_texts(value: object) -> object:
    """The value; raises `UnicodeEncodeError` for half of a surrogate pair in it."""
    json.dumps(value, ensure_ascii=False).encode()
    return value


def whole_characters(value: JsonValue) -> JsonValue:
    """The value with U+FFFD for each half of a surrogate pair, which a model's cut token leaves and no text can hold."""
    match value:
        case str():
            return _HALF.sub("\ufffd", value)
        case dict():
            return {_HALF.sub("\ufffd", key): whole_characters(part) for key, part in value.items()}
        case list():
            return [whole_characters(part) for part in value]
        case _:
            return value


def distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of those pairs; raises `ValueError` for a key that comes twice, of which one would be lost in silence."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"duplicate key {next(key for key in keys if keys.count(key) > 1)!r}")
    return members


_DISTINCT = json.JSONDecoder(object_pairs_hook=distinct)


@dataclass(slots=True)
class _Open:
    """A list or mapping that is being read. `size` is in characters, its aliases written out."""

    anchor: str | None
    mapping: bool
    size: int = 1
    at_key: bool = True
    keys: set[str] = field(default_factory=set[str])


class _Vetting:
    """Reads the events alone, which costs no memory, before anything is built from them."""

    def __init__(self, path: str, *, yaml12: bool = False) -> None:
        self._path = path
        self._yaml12 = yaml12
        self._open: list[_Open] = []
        self._sizes: dict[str, int] = {}
        self._aliased = 0

    def vet(self, text: str) -> None:
        """Raises `InvalidRecordError` where the text is nested too deeply, stands for too much or repeats a key."""
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            match event:
                case yaml.ScalarEvent():
                    self._named(event.anchor, len(event.value) + 1)
                    self._took(event, len(event.value) + 1, event.value, plain=event.implicit[0])
                case yaml.AliasEvent():
                    self._took(event, self._written_out(event), None)
                case yaml.CollectionStartEvent():
                    self._open.append(_Open(event.anchor, isinstance(event, yaml.MappingStartEvent)))
                    if len(self._open) > MOST_DEPTH:
                        raise self._refusal(event, f"nested more than {MOST_DEPTH} deep")
                case yaml.CollectionEndEvent():
                    closed = self._open.pop()
                    self._named(closed.anchor, closed.size)
                    self._took(event, closed.size, None)
                case _:
                    pass

    def _named(self, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self._sizes[anchor] = size

    def _written_out(self, event: yaml.AliasEvent) -> int:
        if any(node.anchor == event.anchor for node in self._open):
            raise self._refusal(event, f"the alias *{event.anchor} refers to itself")
        size = self._sizes.get(event.anchor or "", 1)
        self._aliased += size
        if self._aliased > MOST_ALIASED:
            raise self._refusal(event, f"its aliases stand for more than {MOST_ALIASED} characters")
        return size

    def _took(self, event: yaml.Event, size: int, key: str | None, *, plain: bool = False) -> None:
        """Counts what is complete into the list or mapping around it."""
        if not self._open:
            return
        around = self._open[-1]
        around.size += size
        if not around.mapping:
            return
        if around.at_key and key is not None:
            if key in around.keys:
                raise self._refusal(event, f"duplicate key {key!r}")
            if plain and not self._yaml12 and key.lower() in NO_NAMES:
                raise self._refusal(event, f"the key {key} means {NO_NAMES[key.lower()]} in YAML: quote it")
            around.keys.add(key)
        around.at_key = not around.at_key

    def _refusal(self, event: yaml.Event, reason: str) -> InvalidRecordError:
        return InvalidRecordError(f"no YAML: {reason}", where=f"{self._path}:{_line(event)}")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def lines_of(text: str, key: str, *, is_json: bool) -> list[int]:
    """The line at which each element of the list under that top-level key begins; of a bare list, each of its own."""
    return [text.count("\n", 0, at) + 1 for at in _json_places(text, key)] if is_json else list(_yaml_lines(text, key))


def _yaml_lines(text: str, key: str) -> Iterator[int]:
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    if isinstance(root, yaml.MappingNode):
        root = next((value for name, value in root.value if name.value == key), None)
    if isinstance(root, yaml.SequenceNode):
        yield from (node.start_mark.line + 1 for node in root.value)


def _json_places(text: str, key: str) -> Iterator[int]:
    at = _past(text, 0)
    if text[at] == "[":
        yield from _elements(text, at)
        return
    at = _past(text, at + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        at = _past(text, _past(text, at) + 1)
        if name == key:
            yield from _elements(text, at)
            return
        _, at = _DECODER.raw_decode(text, at)
        at = _past(text, at, also=",")


def _elements(text: str, at: int) -> Iterator[int]:
    at = _past(text, at + 1)
    while text[at] != "]":
        yield at
        _, at = _DECODER.raw_decode(text, at)
        at = _past(text, at, also=",")


def _past(text: str, at: int, *, also: str = "") -> int:
    """The place of the next character that is no white space."""
    while text[at] in " \t\r\n" + also:
        at += 1
    return at


_DECODER = json.JSONDecoder()


def not_utf8(data: bytes, *, is_whole: bool) -> str:
    """The first byte that is not UTF-8, and why; empty where there is none. A file's beginning may end inside a character."""
    try:
        getincrementaldecoder("utf-8")().decode(data, final=is_whole)
    except UnicodeDecodeError as error:
        return f"{error.reason} at byte {error.start}"
    return ""
