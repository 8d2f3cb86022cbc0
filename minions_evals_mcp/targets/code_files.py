"""The files of a project that code in it is made of: those that are named, what they import, and the data that they name.

Nothing is run for it: the text is read. Of Python, statements that import from the folder of the file or of the project; of
JavaScript, paths that begin with a dot; of any other script, and of settings, the files that they name.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import sys
import sysconfig
import textwrap
import warnings
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.targets.named_data import (
    STATE,
    Looked,
    NamedPath,
    PythonPaths,
    called,
    files_of_shapes,
    script_shapes,
    shell_shapes,
)

JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
SCRIPTS = (".py", *JAVASCRIPT, ".sh", ".bash", ".rb", ".pl", ".php", ".lua", ".r", ".go")
QUOTING = (".rb", ".pl", ".php", ".lua", ".r", ".go")
SETTINGS = (".json", ".yaml", ".yml", ".toml", ".ini", ".cfg")
RUNNERS = {"npm": "package.json", "pnpm": "package.json", "yarn": "package.json", "bun": "package.json", "make": "Makefile",
           "just": "justfile", "deno": "deno.json"}  # fmt: skip
"""Programs that run what stands in a file which their command does not name."""
_OURS = Path(__file__).resolve().parents[1]
MAX_FILES = 2000
MOST_FOLLOWED = 40
"""So many files of code are read for what they import and name; what is made of more is any code of the folder."""
MAX_BYTES = 20_000_000
MAX_SETTINGS = 1_000_000
MAX_HASHED = 500_000_000
"""Of a larger file size and time stand for its contents."""
_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules"})
_IMPORTED = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](\.{1,2}/[^"'\n]+|\.{1,2})["']""")
_WORD = re.compile(r"[\w./~-]+")
_PYTHON = re.compile(r"#!.*python")
_SYSTEM_PATH = re.compile(r"(?:sys\.)?path\.(?:insert|append)$|(?:site\.)?addsitedir$")
_RUN_MODULE = re.compile(r"\bpython[\d.]*\s+(?:-\w\s+)*-m\s+([\w.]+)")


def files_digest(named: Iterable[Path], folder: Path) -> str:
    """The digest of the named files and of all that they import from the project in that folder; empty where none is there."""
    return project_code(named, folder).digest


def named_in(words: Sequence[str], folder: Path) -> list[Path]:
    """The files that a command's words name, seen from the folder: `python -m app.agent`, `./run.sh`, `npm run agent`."""
    parts = [part for word in words for part in (word, word.partition("=")[2], *_WORD.findall(word)) if part]
    folders = [folder, *(place for part in parts if part.strip("./") and (place := folder / part).is_dir())]
    found = [path for part in parts for place in folders if (path := _file(place / part)) is not None]
    for number, part in enumerate(parts):
        if part == "-m" and len(parts) > number + 1:
            found += _module(parts[number + 1], folder)
        if number == 0 or part in words:
            ran = _file(folder / RUNNERS.get(Path(part).name, "-"))
            found += [] if ran is None else [ran]
    found += _installed_command(words[0], folder) if words else []
    return [path for path in dict.fromkeys(found) if path.suffix.lower() not in STATE]


def _module(name: str, folder: Path) -> Iterator[Path]:
    """The files of a module that is run: a package is run by its `__main__`."""
    parts, looked = name.split("."), Looked()
    yield from _python_files(parts, [*_roots(folder)], looked)
    yield from _python_files([*parts, "__main__"], [*_roots(folder)], looked)


def _installed_command(program: str, folder: Path) -> Iterator[Path]:
    """What a command that an installed project of this folder brings imports from it."""
    place = shutil.which(program)
    try:
        text = (
            ""
            if place is None or os.sep in program or Path(place).stat().st_size > 10_000
            else Path(place).read_text("utf-8")
        )
    except (OSError, ValueError):
        return
    if text.startswith("#!") and "python" in text.partition("\n")[0]:
        yield from _python_imports(_read_python(text), folder / "-", folder, Looked())


def is_own(file: str) -> bool:
    """Whether the file is the user's own: not Python's, an installed package's or this package's."""
    path = Path(file).resolve()
    return not _INSTALLED & {*path.parts} and not any(path.is_relative_to(root) for root in _installed_roots())


@cache
def _installed_roots() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return (*(Path(paths[name]).resolve() for name in ("stdlib", "platstdlib")), _OURS)


_Stamp = tuple[int, int, int, int]
"""When a file or folder was changed, its size and which it is."""


class ProjectCode(NamedTuple):
    """The named files and those that they import, each once with the digest of what it holds, and the digest of them all."""

    files: Mapping[Path, str]
    digest: str


class _Found(NamedTuple):
    """The code that was found, and the state of all that was looked at."""

    code: ProjectCode
    stamps: dict[Path, _Stamp | None]


_FOUND: OrderedDict[tuple[tuple[Path, ...], Path], _Found] = OrderedDict()
_MOST_FOUND = 64
_FINDING = Lock()


def project_code(named: Iterable[Path], folder: Path) -> ProjectCode:
    """The named files and those that they import; of code that is large, all code of the folder.

    What was found once is found again while no file and no folder that was looked at has changed.
    """
    about = (tuple(path.resolve() for path in named), folder)
    with _FINDING:
        held = _FOUND.get(about)
        if held is None or any(_stamp(path) != stamp for path, stamp in held.stamps.items()):
            held = _FOUND[about] = _found(about[0], folder)
        _FOUND.move_to_end(about)
        while len(_FOUND) > _MOST_FOUND:
            _FOUND.popitem(last=False)
        return held.code


def _found(named: Sequence[Path], folder: Path) -> _Found:
    looked = Looked()
    files = _search(named, folder, looked)
    seen_places = {*files, *(file.parent for file in files), *looked.names, *looked.walked}
    stamps = {path: _stamp(path) for path in seen_places}
    digests = {path: "" if (stamp := stamps[path]) is None else _digest_of(path, stamp) for path in files}
    named_digests = sorted((os.path.relpath(path, folder), held) for path, held in digests.items())
    return _Found(ProjectCode(digests, digest([[*pair] for pair in named_digests]) if digests else ""), stamps)


def _search(named: Sequence[Path], folder: Path, looked: Looked) -> list[Path]:
    waiting, followed = deque(named), 0
    seen: dict[Path, None] = dict.fromkeys(waiting)
    while waiting:
        path = waiting.popleft()
        followed += path.suffix.lower() in SCRIPTS
        if followed > MOST_FOLLOWED:
            return [*dict.fromkeys((*seen, *code_below(folder, looked)))]
        for other in _imports(path, folder, looked):
            resolved = looked.resolved(other)
            if resolved not in seen and len(seen) < MAX_FILES:
                seen[resolved] = None
                waiting.append(resolved)
    return [*seen]


def code_below(folder: Path, looked: Looked) -> Iterator[Path]:
    """All code in the folder, as far as it is no installed package: what is followed no further may import any of it."""
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in {"__pycache__", *_INSTALLED}
        )
        if "pyvenv.cfg" in names or Path(at) == _OURS:
            folders.clear()
            continue
        looked.walked.add(Path(at))
        yield from (Path(at, name) for name in sorted(names) if name.endswith(SCRIPTS))


def _imports(path: Path, folder: Path, looked: Looked) -> Iterator[Path]:
    suffix = path.suffix.lower()
    try:
        if path.stat().st_size > (MAX_SETTINGS if suffix in SETTINGS else MAX_BYTES):
            return
        is_read = suffix in (*SCRIPTS, *SETTINGS) or path.name in RUNNERS.values() or _starts_as_script(path)
        text = path.read_text("utf-8", "replace") if is_read else ""
    except OSError:
        return
    if not text or "\0" in text:
        return
    if suffix == ".py" or (suffix not in SCRIPTS and _PYTHON.match(text)):
        code = _read_python(text)
        yield from _python_imports(code, path, folder, looked)
        named, written = code.named, code.written
    elif suffix in JAVASCRIPT:
        for match in _IMPORTED.finditer(text):
            looked.walked.add((path.parent / match[1]).parent)
            yield from _javascript_file(path.parent / match[1])
        named, written = script_shapes(text)
    elif suffix in QUOTING:
        named, written = script_shapes(text)
    else:
        named, written = shell_shapes(text)
        for module in _RUN_MODULE.findall(text):
            yield from _module(module, folder)
    yield from _outside_installed(files_of_shapes(named, written, _places(path, folder), folder, looked))


def data_of(path: Path, text: str, part: str, folder: Path) -> Iterator[Path]:
    """The data that a part of a Python file names, as all of its text tells it."""
    paths = _paths_in(text)
    named = paths.named(_parsed(textwrap.dedent(part)))
    found = _outside_installed(files_of_shapes(named, paths.written, _places(path, folder), folder, Looked()))
    yield from (file for file in found if file.suffix != ".py")


@lru_cache(maxsize=64)
def _paths_in(text: str) -> PythonPaths:
    tree = _parsed(text)
    return PythonPaths(tree, [*ast.walk(tree)])


def _outside_installed(paths: Iterable[Path]) -> Iterator[Path]:
    return (path for path in paths if _in_project(path))


def _in_project(path: Path) -> bool:
    return not _INSTALLED & {*path.parts} and not path.is_relative_to(_OURS)


def _places(path: Path, folder: Path) -> list[Path]:
    """Where a name in the file may begin: its own folder, those around it in the project, and the project's."""
    return [*dict.fromkeys((*(place for place in path.parents if place.is_relative_to(folder)), path.parent, folder))]


def _starts_as_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _parsed(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings(action="ignore"):  # strange escapes are the author's affair
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _roots(folder: Path) -> Iterator[Path]:
    """The folders that modules of the project stand in."""
    yield folder
    yield folder / "src"
    yield from (place for entry in sys.path if (place := Path(entry)).is_relative_to(folder))


class _PythonCode(NamedTuple):
    """What a Python file says of others: modules that it imports, at how many folders above where that is said, with the names that
    may be modules; paths that it names and writes, and folders that it adds to the places that modules come from.
    """

    imports: tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...]
    named: tuple[NamedPath, ...]
    written: tuple[NamedPath, ...]
    added: tuple[NamedPath, ...]


@lru_cache(maxsize=2048)
def _read_python(text: str) -> _PythonCode:
    tree = _parsed(text)
    nodes = [*ast.walk(tree)]
    paths = PythonPaths(tree, nodes)
    added = [
        shape
        for node in nodes
        if isinstance(node, ast.Call)
        and called(node.func) in {"insert", "append", "addsitedir"}
        and _SYSTEM_PATH.match(ast.unparse(node.func))
        for shape in paths.named(node)
        if shape.text and not shape.more
    ]
    named = tuple(dict.fromkeys(paths.named()))
    return _PythonCode(tuple(_said_imports(nodes)), named, tuple(paths.written), tuple(added))


def _said_imports(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from ((0, tuple(alias.name.split(".")), ()) for alias in names)
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]):
                if called(func) in {"import_module", "__import__"} and name.strip("."):
                    yield 0, tuple(name.strip(".").split(".")), ()
            case ast.ImportFrom(module=module, names=names, level=level):
                yield level, tuple((module or "").split(".")) if module else (), tuple(alias.name for alias in names)
            case _:
                pass


def _python_imports(code: _PythonCode, path: Path, folder: Path, looked: Looked) -> Iterator[Path]:
    places = _places(path, folder)
    added = (place / shape.text for shape in code.added for place in places)
    around = [*dict.fromkeys((*places, *_roots(folder), *added))]
    for level, module, names in code.imports:
        base = [path.parents[level - 1]] if 0 < level <= len(path.parents) else around
        if module:
            yield from _python_files(module, base, looked)
        for name in names:
            yield from _python_files([*module, name], base, looked)


def _python_files(parts: Sequence[str], folders: Sequence[Path], looked: Looked) -> Iterator[Path]:
    """The module's file and those of the packages around it, in the first folder that has any."""
    for folder in folders:
        if looked.entries(folder).isdisjoint({parts[0], f"{parts[0]}.py"}):
            continue
        found: list[Path] = []
        for length in range(1, len(parts) + 1):
            place = folder.joinpath(*parts[:length])
            looked.walked.add(place.parent)
            found += [path for path in (place.with_name(f"{place.name}.py"), place / "__init__.py") if _file(path)]
        if found:
            yield from reversed(found)
            return


def _javascript_file(place: Path) -> Iterator[Path]:
    """The file of a relative import: as it is written, with a suffix, in place of a `.js` that is TypeScript, or an index."""
    stem = place.with_suffix("") if place.suffix == ".js" else place
    names = [place, *(Path(f"{stem}{suffix}") for suffix in (*JAVASCRIPT, ".json"))]
    names += [place / f"index{suffix}" for suffix in JAVASCRIPT]
    found = next((path for path in names if _file(path)), None)
    if found is not None:
        yield found


def _file(path: Path) -> Path | None:
    try:
        return path if path.is_file() and _in_project(path) else None
    except (OSError, ValueError):
        return None


def _stamp(path: Path) -> _Stamp | None:
    try:
        about = os.stat(path)  # noqa: PTH116  thousands of them, and a Path takes twice as long
    except OSError:
        return None
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino


def content_digest(path: Path) -> str:
    """The digest of what the file holds; empty where it cannot be read."""
    stamp = _stamp(path)
    return "" if stamp is None else _digest_of(path, stamp)


@lru_cache(maxsize=10_000)
def _digest_of(path: Path, stamp: _Stamp) -> str:
    changed_at, _, size, _ = stamp
    if size > MAX_HASHED:
        return f"{size} {changed_at}"
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
