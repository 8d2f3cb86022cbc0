"""Values of a config with the place where each stands: file and line for whatever has to be refused."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast
from urllib.parse import unquote

import yaml
from pydantic import JsonValue
from pydantic_core import from_json, to_json

from minions_evals_mcp import bounded_files
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.parsing import parse_json, parse_yaml, vet_size

_REFERENCE = re.compile(r'"\$ref": "#/([^/"]+)')
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
FILE = "file://"
MOST_REFERENCES = 20
YAML = frozenset({".yaml", ".yml"})
Step = str | int


@dataclass(frozen=True)
class SourceFile:
    """A file that was read. `base` is the config's folder, from which every `file://` goes out."""

    path: Path
    text: str
    base: Path
    line: int | None = None

    def place(self, steps: Sequence[Step]) -> str:
        """`file:line` of what stands there; the nearest line around it where that cannot be told."""
        return f"{self.path}:{self.line or self._line(steps)}"

    def _line(self, steps: Sequence[Step]) -> int:
        node, line = self._root, 1
        for step in steps:
            inside = _inside(node, step)
            if inside is None:
                break
            line, node = inside
        return line

    @cached_property
    def _root(self) -> yaml.Node | None:
        try:
            return yaml.compose(self.text, Loader=yaml.CSafeLoader)
        except yaml.YAMLError:
            return None


def _inside(node: yaml.Node | None, step: Step) -> tuple[int, yaml.Node] | None:
    """The line at which that key or element begins, and its node."""
    match node:
        case yaml.MappingNode():
            pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
            pair = next(((key, value) for key, value in pairs if key.value == str(step)), None)
            return None if pair is None else (pair[0].start_mark.line + 1, pair[1])
        case yaml.SequenceNode() if isinstance(step, int) and step < len(node.value):
            inner = cast("yaml.Node", node.value[step])
            return inner.start_mark.line + 1, inner
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands."""

    value: JsonValue
    source: SourceFile
    steps: tuple[Step, ...] = ()

    @property
    def at(self) -> str:
        """`file:line`."""
        return self.source.place(self.steps)

    @property
    def name(self) -> str:
        """Its path in the file, as a person reads it."""
        return ".".join(map(str, self.steps))

    def wrong(self, reason: str) -> InvalidRecordError:
        """The refusal of this value."""
        return InvalidRecordError(reason, field=self.name, where=self.at)

    def child(self, step: Step, value: JsonValue) -> Node:
        """Returns what stands inside under that key or number."""
        return Node(value, self.source, (*self.steps, step))

    def mapping(self) -> dict[str, Node]:
        """The values by key; raises `InvalidRecordError` where this is no mapping."""
        if not isinstance(self.value, dict):
            raise self.wrong("must be a mapping")
        return {key: self.child(key, value) for key, value in self.value.items()}

    def elements(self) -> list[Node]:
        """The elements; raises `InvalidRecordError` where this is no list."""
        if not isinstance(self.value, list):
            raise self.wrong("must be a list")
        return [self.child(number, value) for number, value in enumerate(self.value)]

    def text(self) -> str:
        """The text; raises `InvalidRecordError` for anything else."""
        if not isinstance(self.value, str):
            raise self.wrong("must be a text")
        return self.value

    def number(self) -> float:
        """The number; raises `InvalidRecordError` for anything else."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.wrong("must be a number")
        return self.value

    def whole(self, *, least: int) -> int:
        """The whole number, which must not be less."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < least:
            raise self.wrong(f"must be a whole number from {least}")
        return self.value

    def yes(self) -> bool:
        """The Boolean."""
        if not isinstance(self.value, bool):
            raise self.wrong("must be true or false")
        return self.value

    @property
    def file(self) -> str | None:
        """The file that a `file://…` names, as it is written; None for any other value."""
        return self.value.removeprefix(FILE) if isinstance(self.value, str) and self.value.startswith(FILE) else None


def with_references(root: Node) -> Node:
    """The document with what each `{$ref: '#/…'}` names in its place, and the keys beside that over it.

    One that names nothing stays; the parameters of tools are schemas, whose references are their own.
    """
    return replace(root, value=_referred(root.value, root, MOST_REFERENCES))


def _referred(value: JsonValue, root: Node, left: int) -> JsonValue:
    match value:
        case {"$ref": str(name), **own} if name.startswith("#/"):
            if left == 0:
                raise root.wrong(f"the reference {name} leads to itself")
            try:
                named = _pointed(root.value, name)
            except (KeyError, IndexError, ValueError):
                return value
            return _referred({**named, **own} if isinstance(named, dict) else named, root, left - 1)
        case dict():
            return {key: item if key == "parameters" else _referred(item, root, left) for key, item in value.items()}
        case list():
            return [_referred(item, root, left) for item in value]
        case _:
            return value


def referred_parts(root: Node) -> frozenset[str]:
    """The parts of the document, by name, that references name."""
    return frozenset(_REFERENCE.findall(json.dumps(root.value, ensure_ascii=False)))


def _pointed(value: JsonValue, pointer: str) -> JsonValue:
    """Returns what a JSON pointer names; raises `KeyError`, `IndexError` or `ValueError` where that is nothing."""
    for step in pointer.removeprefix("#/").split("/"):
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        match value:
            case dict():
                value = value[name]
            case list():
                value = value[int(name)]
            case _:
                raise KeyError(name)
    return value


def named_file(node: Node, name: str) -> Path:
    """The file of that name, seen from the config's folder; raises `InvalidRecordError` where there is none."""
    path = (node.source.base / name).resolve()
    if not path.is_file():
        raise node.wrong(f"there is no file {path}")
    return path


def named_files(node: Node, pattern: str) -> list[str]:
    """The files that fit the pattern, in order; raises `InvalidRecordError` where none does."""
    if not glob.has_magic(pattern) and not _BRACES.search(pattern):
        named_file(node, pattern)
        return [pattern]
    files: dict[str, None] = {}
    for plain in _without_braces(pattern):
        fitting = glob.glob(plain, root_dir=node.source.base, recursive=True)  # noqa: PTH207  patterns may lead out of the folder, and be absolute
        files.update(dict.fromkeys(sorted(fitting, key=_as_walked)))
    if not files:
        raise node.wrong(f"no file fits {pattern}")
    return [*files]


def _without_braces(pattern: str) -> list[str]:
    """The patterns that one with `{a,b}` stands for."""
    braces = _BRACES.search(pattern)
    if braces is None:
        return [pattern]
    heads = [pattern[: braces.start()] + ending for ending in braces[1].split(",")]
    return [head + tail for head in heads for tail in _without_braces(pattern[braces.end() :])]


def _as_walked(path: str) -> list[tuple[bool, tuple[int, ...]]]:
    """Orders files as promptfoo finds them: from the last name to the first, those of a folder before its folders'."""
    names = path.split("/")
    backwards = [(*(-byte for byte in name.encode()), 1) for name in names]
    return [(at < len(names) - 1, name) for at, name in enumerate(backwards)]


def read_text(path: Path) -> str:
    """The text of a file; raises `BadInputError` where it cannot be read."""
    try:
        return bounded_files.read_text(path)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path} is not UTF-8: {error.reason} at byte {error.start}.") from None


def read_node(path: Path, base: Path) -> Node:
    """The value in a YAML or JSON file; raises `InvalidRecordError` with file and line."""
    text = read_text(path)
    return Node(_json(_document(text, path), path), SourceFile(path, text, base))


def _document(text: str, path: Path) -> object:
    if path.suffix.lower() == ".json":
        return parse_json(text, str(path))
    vet_size(text, "file", "Write one test a line (.jsonl), and name that file as the tests.", where=str(path))
    return parse_yaml(text, str(path), yaml12=True)


def read_lines(path: Path, base: Path) -> Iterator[Node]:
    """The value in each line of a JSON lines file."""
    text = read_text(path)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield Node(_json(parse_json(line, str(path), line=number), path), SourceFile(path, line, base, number))


def _json(value: object, path: Path) -> JsonValue:
    try:
        return cast("JsonValue", from_json(to_json(value, inf_nan_mode="constants"), allow_inf_nan=False))
    except ValueError as error:
        raise InvalidRecordError(f"it holds what is no JSON value, such as .inf: {error}", where=str(path)) from None
