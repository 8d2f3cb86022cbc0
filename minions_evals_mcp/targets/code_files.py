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
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.targets.named_data import (
    STATE,
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
    found = {os.path.relpath(path, folder): content_digest(path) for path in project_files(named, folder)}
    return digest([[name, found[name]] for name in sorted(found)]) if found else ""


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
    parts = name.split(".")
    yield from _python_files(parts, [*_roots(folder)])
    yield from _python_files([*parts, "__main__"], [*_roots(folder)])


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
        yield from _python_imports(_parsed(text), folder / "-", folder)


def is_own(file: str) -> bool:
    """Returns whether the file is the user's: not of an installed package, of Python, or of this one."""
    path = Path(file).resolve()
    return not _INSTALLED & {*path.parts} and not any(path.is_relative_to(root) for root in _installed_roots())


@cache
def _installed_roots() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return (*(Path(paths[name]).resolve() for name in ("stdlib", "platstdlib")), _OURS)


def project_files(named: Iterable[Path], folder: Path) -> list[Path]:
    """The named files and those that they import, each once."""
    waiting = [path.resolve() for path in named]
    seen: dict[Path, None] = {}
    while waiting and len(seen) < MAX_FILES:
        path = waiting.pop()
        if path not in seen:
            seen[path] = None
            waiting.extend(other.resolve() for other in _imports(path, folder))
    return list(seen)


def _imports(path: Path, folder: Path) -> Iterator[Path]:
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
        tree = _parsed(text)
        yield from _python_imports(tree, path, folder)
        paths = PythonPaths(tree)
        named, written = paths.named(), paths.written
    elif suffix in JAVASCRIPT:
        for match in _IMPORTED.finditer(text):
            yield from _javascript_file(path.parent / match[1])
        named, written = script_shapes(text)
    elif suffix in QUOTING:
        named, written = script_shapes(text)
    else:
        named, written = shell_shapes(text)
        for module in _RUN_MODULE.findall(text):
            yield from _module(module, folder)
    yield from _outside_installed(files_of_shapes(named, written, _places(path, folder), folder))


def data_of(path: Path, text: str, part: str, folder: Path) -> Iterator[Path]:
    """The data that a part of a Python file names, as all of its text tells it."""
    paths = _paths_in(text)
    named = paths.named(_parsed(textwrap.dedent(part)))
    found = _outside_installed(files_of_shapes(named, paths.written, _places(path, folder), folder))
    yield from (file for file in found if file.suffix != ".py")


@lru_cache(maxsize=64)
def _paths_in(text: str) -> PythonPaths:
    return PythonPaths(_parsed(text))


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


def _added(tree: ast.Module, path: Path, folder: Path) -> Iterator[Path]:
    """The folders that the file adds to the places that modules come from."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or called(node.func) not in {"insert", "append", "addsitedir"}:
            continue
        if _SYSTEM_PATH.match(ast.unparse(node.func)):
            for shape in PythonPaths(tree).named(node):
                yield from (place / shape.text for place in _places(path, folder) if shape.text and not shape.more)


def _python_imports(tree: ast.Module, path: Path, folder: Path) -> Iterator[Path]:
    around = [*dict.fromkeys((*_places(path, folder), *_roots(folder), *_added(tree, path, folder)))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _python_files(alias.name.split("."), around)
        elif isinstance(node, ast.Call) and called(node.func) in {"import_module", "__import__"} and node.args:
            named = node.args[0]
            if isinstance(named, ast.Constant) and isinstance(named.value, str) and named.value.strip("."):
                yield from _python_files(named.value.strip(".").split("."), around)
        elif isinstance(node, ast.ImportFrom):
            base = [path.parents[node.level - 1]] if 0 < node.level <= len(path.parents) else around
            module = (node.module or "").split(".") if node.module else []
            yield from _python_files(module, base)
            for alias in node.names:
                yield from _python_files([*module, alias.name], base)


def _python_files(parts: Sequence[str], folders: Sequence[Path]) -> Iterator[Path]:
    """The module's file and those of the packages around it, in the first folder that has any."""
    for folder in folders:
        found: list[Path] = []
        for length in range(1, len(parts) + 1):
            place = folder.joinpath(*parts[:length])
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


def content_digest(path: Path) -> str:
    try:
        about = path.stat()
        if about.st_size > MAX_HASHED:
            return f"{about.st_size} {about.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
