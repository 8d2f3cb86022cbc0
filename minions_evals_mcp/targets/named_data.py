"""The files that a piece of code names in its text: data that it reads, folders that it looks through, other programs.

Nothing is run for it. A file that the code writes is its output, and no part of what it is made of.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath

MOST_IN_FOLDER = 500
MOST_SHAPES = 8
LONGEST_NAME = 300
STATE = frozenset({".log", ".db", ".sqlite", ".sqlite3", ".lock", ".pid", ".tmp", ".pyc", ".db-wal", ".db-shm"})
"""Endings of files that programs keep for themselves."""
OF_SYSTEM = frozenset(
    {"proc", "sys", "dev", "run", "etc", "usr", "bin", "sbin", "lib", "lib64", "opt", "boot", "Library", "System"}
)
FUNCTIONS_OF_PATHS = frozenset({"Path", "PurePath", "PosixPath", "join", "joinpath", "abspath", "realpath", "normpath", "resolve",
                                "absolute", "str", "fspath", "expanduser", "open", "glob", "iglob", "rglob", "iterdir", "listdir",
                                "scandir", "walk", "with_name", "FileSystemLoader"})  # fmt: skip
BASES = frozenset({"joinpath", "resolve", "absolute", "expanduser", "glob", "rglob", "iterdir", "walk"})
"""Methods that stay at or below the path that they are called of."""
WRITES = frozenset({"write_text", "write_bytes", "mkdir", "makedirs", "touch", "unlink", "rmtree", "remove", "connect", "savefig",
                    "FileHandler", "RotatingFileHandler", "TimedRotatingFileHandler", "basicConfig"})  # fmt: skip
_WRITE_MODE = re.compile(r"[wax+]")
_NAMES_FILE = re.compile(r"/|\w\.\w{1,12}$")
_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A path as far as its text tells it; `more`: what follows is known only where it runs. `folder`: it may name a folder."""

    text: str
    more: bool = False
    folder: bool = False

    def __truediv__(self, other: NamedPath) -> NamedPath:
        if self.more:
            return self
        text = str(PurePath(self.text) / other.text) if other.text else self.text
        if other.text.endswith("/"):
            text = f"{text}/"
        if other.more and not other.text:
            text = f"{text}/"
        return NamedPath(text, more=other.more, folder=True)


@dataclass(slots=True)
class Looked:
    """The folders that one search has looked into: each is walked once, whatever names it."""

    names: dict[Path, set[str]] = field(default_factory=dict[Path, set[str]])
    inside: dict[Path, list[tuple[str, Path]]] = field(default_factory=dict[Path, list[tuple[str, Path]]])
    given: set[tuple[Path, str]] = field(default_factory=set[tuple[Path, str]])
    """The folders whose files were given already, with the beginning of their names."""
    places: dict[Path, Path] = field(default_factory=dict[Path, Path])
    walked: set[Path] = field(default_factory=set[Path])

    def entries(self, folder: Path) -> set[str]:
        """The names in the folder."""
        if folder not in self.names:
            self.names[folder] = _entries(folder)
        return self.names[folder]

    def below(self, folder: Path) -> list[tuple[str, Path]]:
        """The first files at and below the folder, with their names seen from it."""
        if folder not in self.inside:
            begins = len(str(folder)) + 1
            self.inside[folder] = [(str(file)[begins:], file) for file in islice(_inside(folder), MOST_IN_FOLDER)]
            self.walked.update((folder, *(file.parent for _, file in self.inside[folder])))
        return self.inside[folder]

    def resolved(self, path: Path) -> Path:
        """The path without links."""
        if path not in self.places:
            self.places[path] = path.resolve()
        return self.places[path]


def files_of_shapes(
    shapes: Iterable[NamedPath], written: Iterable[NamedPath], places: Sequence[Path], folder: Path, looked: Looked
) -> Iterator[Path]:
    """The files of those shapes, seen from the places, without those that are written."""
    out = {os.path.normpath(shape.text) for shape in written if not shape.more and shape.text}
    loosely = tuple(shape.text for shape in written if shape.more and shape.text)
    here = {place: looked.entries(place) for place in places}
    for shape in dict.fromkeys(shapes):
        text = shape.text
        if not (shape.folder or shape.more or _NAMES_FILE.search(text)):
            continue
        if not text.strip("./ ") or len(text) > LONGEST_NAME or "\n" in text or "\0" in text or _below(text, out):
            continue
        first = text.removeprefix("./").partition("/")[0]
        looks = first not in {"..", "~"} and first
        for place in places:
            if looks and not (shape.more or first in here[place]):
                continue
            found = [*_found(place, shape, folder, out, loosely, looked)]
            yield from found
            if found:
                break


def _entries(folder: Path) -> set[str]:
    try:
        return {place.name for place in folder.iterdir()}
    except OSError:
        return set()


def _below(text: str, written: set[str]) -> bool:
    name = os.path.normpath(text)
    return name in written or any(name.startswith(f"{each}/") for each in written)


def _found(
    place: Path, shape: NamedPath, folder: Path, out: set[str], loosely: tuple[str, ...], looked: Looked
) -> Iterator[Path]:
    try:
        path = place / Path(shape.text).expanduser()
        looked.walked.add(path.parent)
        if not shape.more and path.is_file():
            resolved = path.resolve()
            of_system = resolved.parts[1:2] and resolved.parts[1] in OF_SYSTEM and not resolved.is_relative_to(folder)
            if path.suffix.lower() not in STATE and not of_system:
                yield path
            return
        start = ""
        if shape.more and not shape.text.endswith("/"):
            path, start = path.parent, path.name
        resolved = path.resolve()
        is_inside = resolved.is_relative_to(folder) and resolved != folder
        if not (shape.folder or shape.more) or not is_inside or not path.is_dir():
            return
        yield from _expanded(path, start, os.path.relpath(path, place), out, loosely, looked)
    except (OSError, ValueError, RuntimeError):
        return


def _expanded(
    path: Path, start: str, seen_from: str, out: set[str], loosely: tuple[str, ...], looked: Looked
) -> Iterator[Path]:
    """The files below the folder whose names begin so, without those that are written."""
    files = looked.below(path)
    if (path, start) in looked.given:  # one stands for all, which are known
        yield from (file for _, file in files[:1])
        return
    is_whole = True
    for name, file in files:
        inside = name if seen_from == "." else f"{seen_from}/{name}"
        if _below(inside, out) or inside.startswith(loosely or ("\0",)):
            is_whole = False
        elif name.startswith(start):
            yield file
    if is_whole:
        looked.given.add((path, start))


def _inside(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in {"__pycache__", "node_modules"}
        )
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() not in STATE:
                yield Path(at, name)


@dataclass(slots=True)
class _Python:
    """The paths that stand in a module, with what its names hold."""

    names: dict[str, list[ast.expr]] = field(default_factory=dict[str, list[ast.expr]])
    held: dict[str, list[NamedPath]] = field(default_factory=dict[str, list[NamedPath]])
    """What was found out of names; a name that is being read names nothing."""

    def _of_name(self, name: str) -> list[NamedPath]:
        if name not in self.held:
            self.held[name] = []
            found = [shape for value in self.names.get(name, [])[:4] for shape in self.shapes(value)]
            self.held[name] = [*dict.fromkeys(found)][:MOST_SHAPES]
        return self.held[name]

    def shapes(self, node: ast.AST) -> list[NamedPath]:
        """What the expression may name; nothing where it is no path."""
        match node:
            case ast.Constant(value=str(text)):
                cut = _PATTERN.search(text)
                return [NamedPath(text[: cut.start()], more=True) if cut else NamedPath(text)]
            case ast.JoinedStr():
                return self._formatted(node)
            case ast.BinOp(op=ast.Div(), left=left, right=right):
                return [
                    base / after
                    for base in self._base(left)
                    for after in self.shapes(right) or [NamedPath("", more=True)]
                ]
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                after = self.shapes(right) if isinstance(right, ast.Constant) else []
                ends = [(each.text, each.more) for each in after] or [("", True)]
                return [
                    NamedPath(base.text + text, more=more or base.more)
                    for base in self.shapes(left)
                    for text, more in ends
                ]
            case (
                ast.Name(id=name) | ast.Attribute(value=ast.Name(), attr=name)
            ):  # an attribute of the class or the object
                return self._of_name(name)
            case ast.Call(func=func, args=args):
                return self._call(func, args)
            case _:
                return []

    def _formatted(self, node: ast.JoinedStr) -> list[NamedPath]:
        match node.values:
            case [ast.Constant(value=str(text)), *_]:
                return [NamedPath(text, more=True)]
            case [ast.FormattedValue(value=first), ast.Constant(value=str(text)), *rest]:
                return [base / NamedPath(text.lstrip("/"), more=bool(rest)) for base in self.shapes(first)]
            case _:
                return [NamedPath("", more=True)]

    def _base(self, node: ast.AST) -> list[NamedPath]:
        """What a path begins with: a place that the text does not tell is one of those that are looked at."""
        return [NamedPath(shape.text, more=shape.more, folder=True) for shape in self.shapes(node)] or [
            NamedPath("", folder=True)
        ]

    def _call(self, func: ast.expr, args: list[ast.expr]) -> list[NamedPath]:
        name = called(func)
        if name not in FUNCTIONS_OF_PATHS:
            return []
        found = (
            self._base(func.value)
            if name in BASES and isinstance(func, ast.Attribute)
            else [NamedPath("", folder=True)]
        )
        for argument in args[:1] if name in {"open", "Path"} and len(args) == 1 else args[:8]:
            parts = self.shapes(argument)
            if not parts:
                is_place = isinstance(argument, ast.Call | ast.Name | ast.Attribute) and not any(
                    one.text for one in found
                )
                parts = [NamedPath("")] if is_place else [NamedPath("", more=True)]
            found = [base / part for base in found for part in parts][:8]
        return found


def called(func: ast.expr) -> str:
    """The last name of what is called."""
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


class PythonPaths:
    """The paths that a Python module names, and those that it writes."""

    def __init__(self, tree: ast.AST, nodes: Sequence[ast.AST]) -> None:
        """`nodes` are all of the tree."""
        self.tree, self.nodes = tree, nodes
        self.reader = _Python()
        for node in nodes:
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        _held(self.reader.names, target, value)
                case (
                    ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value)
                ):
                    _held(self.reader.names, target, value)
                case _:
                    pass
        self.written = [shape for node in nodes if isinstance(node, ast.Call) for shape in _written(node, self.reader)]

    def named(self, part: ast.AST | None = None) -> list[NamedPath]:
        """The paths that the module names, or that this part of it names."""
        nodes = self.nodes if part is None else [*ast.walk(part)]
        said = {id(node.value) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
        return [
            shape
            for node in nodes
            if isinstance(node, ast.Constant | ast.BinOp | ast.Call | ast.JoinedStr) and id(node) not in said
            for shape in self.reader.shapes(node)
        ]


def _held(names: dict[str, list[ast.expr]], target: ast.expr, value: ast.expr) -> None:
    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    if name:
        names.setdefault(name, []).append(value)


def _written(call: ast.Call, reader: _Python) -> Iterator[NamedPath]:
    """What the call writes or makes."""
    name, base = called(call.func), call.func.value if isinstance(call.func, ast.Attribute) else None
    if name == "open":
        of_path = (base is not None and not isinstance(base, ast.Name)) or bool(
            base is not None and reader.shapes(base)
        )
        modes = [*call.args[0 if of_path else 1 :][:1], *(word.value for word in call.keywords if word.arg == "mode")]
        if any(isinstance(mode, ast.Constant) and _WRITE_MODE.search(str(mode.value)) for mode in modes):
            where = base if of_path and base is not None else next(iter(call.args), None)
            yield from reader.shapes(where) if where is not None else ()
    elif name in WRITES or name.startswith(("to_", "save", "dump")):
        if base is not None and name not in {"connect", "remove"}:
            yield from reader.shapes(base)
        for argument in [*call.args, *(word.value for word in call.keywords)]:
            if name not in {"write_text", "write_bytes"}:
                yield from reader.shapes(argument)


_QUOTED = re.compile(r"""(["'])((?:(?!\1)[^\\\n])+)\1|`([^`\n$]*)(\$\{)?""")
_JOINED = re.compile(r"\b(?:join|resolve)\s*\(([^()]*)\)")
_JS_WRITE = re.compile(
    r"\b(?:writeFile|appendFile|createWriteStream|mkdir|unlink|rm|openSync|writeJson|outputFile|File\.write)\w*\s*\(\s*((?:[^(),;]|\([^()]*\))+)"
)
_SHELL_WRITE = re.compile(r"(?:>>?|\btee\b(?:\s+-a)?)\s*[\"']?([\w./~-]+)")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_WORD = re.compile(r"[\w./~@-]+")


def script_shapes(text: str) -> tuple[list[NamedPath], list[NamedPath]]:
    """The paths that a script of a language with quoted texts names, JavaScript first, and those that it writes."""
    named = [*_quoted(text)]
    folders = [joined for match in _JOINED.finditer(text) if (joined := _joined(match[1])) is not None]
    named += folders
    named += [folder / shape for folder in folders for shape in _quoted(text) if not folder.more and not shape.more]
    written: list[NamedPath] = []
    for match in _JS_WRITE.finditer(text):
        written += _of_argument(match[1])
        for name in _IDENTIFIER.findall(match[1]):
            for held in re.findall(rf"\b{re.escape(name)}\s*=\s*([^;\n]+)", text)[:4]:
                written += _of_argument(held)
    return named, written


def _of_argument(text: str) -> list[NamedPath]:
    joined = _JOINED.search(text)
    whole = None if joined is None else _joined(joined[1])
    return [*_quoted(text)] if whole is None else [whole]


def _joined(arguments: str) -> NamedPath | None:
    parts = list(_quoted(arguments))
    if not parts:
        return None
    found = NamedPath("", folder=True)
    for part in parts:
        found = found / part
    last = arguments.rpartition(",")[2].strip()
    return found if last[:1] in {'"', "'", "`"} else NamedPath(f"{found.text}/", more=True, folder=True)


def _quoted(text: str) -> Iterator[NamedPath]:
    for match in _QUOTED.finditer(text):
        word = match[2] if match[2] is not None else match[3] or ""
        word = word.removeprefix("file://") if word.startswith("file://") else word
        cut = _PATTERN.search(word)
        if match[4] or cut:
            yield NamedPath(word[: cut.start()] if cut else word, more=True)
        else:
            yield NamedPath(word, more=word.endswith("/") and word.startswith("."))


def shell_shapes(text: str) -> tuple[list[NamedPath], list[NamedPath]]:
    """The words of a shell script, or of a file of settings, and those that it writes to."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    plain = "\n".join(lines)
    return [NamedPath(word) for word in dict.fromkeys(_WORD.findall(plain))], [
        NamedPath(name) for name in _SHELL_WRITE.findall(plain)
    ]
