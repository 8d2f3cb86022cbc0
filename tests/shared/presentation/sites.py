"""Every place in the code base that makes a `Next`, with its operation and the names of its arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import minions_evals_mcp

ROOT = Path(minions_evals_mcp.__file__).parent


@dataclass(frozen=True, slots=True)
class Site:
    """A place that makes a step. `arguments` holds what is written there, or a stand-in for what is computed."""

    where: str
    operation: str
    arguments: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        return f"{self.where}:{self.operation}"


def docstrings(tree: ast.AST) -> set[int]:
    """The nodes that are docstrings."""
    bodies = (
        cast("list[ast.AST]", body) for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list)
    )
    return {
        id(line.value)
        for body in bodies
        for line in body
        if isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
    }


@cache
def sites() -> list[Site]:
    """All of them, of package and agent."""
    return [
        site for folder in (ROOT, ROOT.parent / "agent") for path in sorted(folder.rglob("*.py")) for site in _of(path)
    ]


def _of(path: Path) -> Iterator[Site]:
    text = path.read_text("utf-8")
    if "Next(" not in text:  # most files: to read their syntax takes longer than all else here
        return
    tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Next"), args=[ast.Constant(value=str(operation)), *more]):
                where = f"{path.relative_to(ROOT.parent)}:{node.lineno}"
                yield Site(where, operation, tuple(_arguments(more[0] if more else None, tree)))
            case _:
                pass


def _arguments(node: ast.expr | None, tree: ast.AST) -> Iterator[tuple[str, object]]:
    """The arguments as they are written; one that is a name is looked up where it is assigned."""
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is None:
                    yield from _arguments(value, tree)
                elif isinstance(key, ast.Constant):
                    yield str(key.value), _value(value)
        case ast.Name(id=name):
            for assigned in ast.walk(tree):
                match assigned:
                    case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                        yield from _arguments(value, tree)
                    case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                        yield from _arguments(value, tree)
                    case _:
                        pass
        case _:
            pass


def _value(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return STAND_IN


STAND_IN = "x y's"
"""What stands for a computed argument: a text that a command line has to quote."""
