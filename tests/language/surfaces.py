"""Where a user meets text: pages, help, messages, templates, descriptions, skills."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.shared.cli.terminal import ROOT

DOCS = ROOT / "docs"
GENERATED = frozenset(
    f"reference/{name}" for name in ("assertions", "commands", "errors", "messages", "records", "tools")
)
PACKAGES = ("minions_evals_mcp", "agent")
TEXTS = {".j2", ".html", ".md", ".graphql", ".json", ".js"}
HELP = ("minions_evals_mcp/cli/", "agent/__main__.py", "minions_evals_mcp/api/", "minions_evals_mcp/__init__.py")
"""Modules whose docstrings a user reads: as `--help`, or by `help()`."""
CELL = re.compile(r"(?<!\\)\|")


def pages() -> dict[str, str]:
    """Hand-written pages by their name: the README and docs/."""
    named = {
        str(path.relative_to(DOCS).with_suffix("")): path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))
    }
    written = {name: text for name, text in named.items() if name not in GENERATED}
    return {"README": (ROOT / "README.md").read_text("utf-8"), **written}


def help_parts() -> list[str]:
    """The sentences of `--help` of every command and option, as the generated page has them."""
    text = (DOCS / "reference" / "commands.md").read_text("utf-8")
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith(("#", "    ", "```"))]
    return [
        part.strip()
        for line in lines
        for part in (CELL.split(line) if line.startswith("|") else [line])
        if part.strip()
    ]


def strings(path: Path, *, docstrings: bool) -> Iterator[tuple[int, str]]:
    """Every sentence in a Python module with its line, with {} where a value goes."""
    nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
    skipped: set[int] = set() if docstrings else {id(node) for node in _docstrings(nodes)}
    skipped |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if id(node) in skipped:
            continue
        match node:
            case ast.JoinedStr(values=values):
                yield node.lineno, "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in values)
            case ast.Constant(value=str(text)):
                yield node.lineno, text
            case _:
                pass


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Texts that are statements: docstrings of modules, types, functions and constants."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


@cache
def met() -> tuple[tuple[str, str], ...]:
    """Every text that a user can meet, with where it is."""
    return tuple(_met())


def _met() -> Iterator[tuple[str, str]]:
    for path in [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "skills").rglob("*.md"))]:
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")
    for path in sorted(ROOT.glob("examples/**/*.md")):
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix == ".py":
            told = strings(path, docstrings=name.startswith(HELP))
            yield from ((f"{name}:{line}", text) for line, text in told if " " in text)
        elif path.suffix in TEXTS and not {"assets", "embedding"} & set(path.parts):
            yield name, path.read_text("utf-8")
