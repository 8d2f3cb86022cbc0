"""The files of a project that code in it is made of: those that are named, and what they import from the same project.

Nothing is run for it: imports are read from the text. Of Python, statements that import from the folder of the file or of
the project; of JavaScript, paths that begin with a dot; of any other script, the code files that it names.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from minions_evals_mcp.domain.digests import digest

JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
SCRIPTS = (".py", *JAVASCRIPT, ".sh", ".bash", ".rb", ".pl", ".php", ".lua", ".r", ".go")
MAX_FILES = 2000
MAX_BYTES = 20_000_000
_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules"})
_IMPORTED = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](\.{1,2}/[^"'\n]+|\.{1,2})["']""")
_WORD = re.compile(r"[\w./~-]+")


def files_digest(named: Iterable[Path], folder: Path) -> str:
    """The digest of the named files and of all that they import from the project in that folder; empty where none is there."""
    found = {os.path.relpath(path, folder): _content_digest(path) for path in project_files(named, folder)}
    return digest([[name, found[name]] for name in sorted(found)]) if found else ""


def named_in(words: Sequence[str], folder: Path) -> list[Path]:
    """The files that a command's words name, seen from the folder: `python agent.py`, `./run.sh`, `node --import=./a.mjs`."""
    parts = [part for word in words for part in {word, word.partition("=")[2]} if part]
    return [path for part in parts if (path := _file(folder / part)) is not None]


def module_file(module: str, folder: Path) -> Path | None:
    """The file of a Python module of the project; None where it is installed, or nowhere."""
    return next(_python_files(module.split("."), (folder,)), None)


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
        if path.stat().st_size > MAX_BYTES:
            return
        text = path.read_text("utf-8", "replace")
    except OSError:
        return
    if suffix == ".py":
        yield from _python_imports(text, path, folder)
    elif suffix in JAVASCRIPT:
        for match in _IMPORTED.finditer(text):
            yield from _javascript_file(path.parent / match[1])
    elif "\0" not in text and (suffix in SCRIPTS or text.startswith("#!")):
        words = [word for word in _WORD.findall(text) if word.lower().endswith(SCRIPTS)]
        yield from named_in(words, folder)
        yield from named_in(words, path.parent)


def _python_imports(text: str, path: Path, folder: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _python_files(alias.name.split("."), (path.parent, folder))
        elif isinstance(node, ast.ImportFrom):
            base = [path.parents[node.level - 1]] if 0 < node.level <= len(path.parents) else [path.parent, folder]
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
        return path if path.is_file() and not _INSTALLED & {*path.parts} else None
    except (OSError, ValueError):
        return None


def _content_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
