"""The keys that Python code reads of a mapping that it is given, as far as its text says: the interpreter has no mappings of its own.

`context["k"]`, `context.get("k")` and `"k" in context` are reads, also under another name for it: a second one
(`c = context`), or the second parameter of a function whose first is `output`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from pydantic import JsonValue

from minions_evals_mcp.scoring.checks import Guards


def unread_in_python(code: str, variables: Mapping[str, JsonValue], guards: Guards) -> str:
    """Returns what the code reads of a guarded mapping and is not there, or cannot be told from its text; nothing where all is."""
    absent = dict(guards)
    for path in _paths_read(code):
        *steps, name = path.split(".")
        within = ".".join(steps)
        if within in absent and name not in absent[within] and not _holds(variables, steps, name):
            return f"{path}, which is not there"
    handed = next((path for path in _paths_handed_on(code) if path in absent), "")
    return f"{handed} otherwise than by the name of what is in it" if handed else ""


def _paths_read(code: str) -> tuple[str, ...]:
    """All that the code reads of `context` by name, by path."""
    return _looked_up(code)[0]


def _paths_handed_on(code: str) -> tuple[str, ...]:
    """Returns what the code takes out of `context`, or `context` itself, without reading something of it there and then."""
    return _looked_up(code)[1]


@lru_cache(maxsize=256)
def _looked_up(code: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both, asked of each code once, however many outputs it is run on."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the interpreter says what is wrong with it
        return (), ()
    names = {"context", *_other_names(tree)}
    read = dict(_reads(tree, names))
    return tuple(sorted(set(read.values()))), tuple(sorted(set(_handed_on(tree, names, {*read}))))


def _holds(variables: Mapping[str, JsonValue], steps: list[str], name: str) -> bool:
    """Returns whether the mapping under that path holds the name; where there is no such mapping, its own name says so."""
    held: JsonValue = dict(variables)
    for step in steps:
        held = held.get(step) if isinstance(held, dict) else None
    return not isinstance(held, dict) or name in held


def _other_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id="context")):
                yield name
            case ast.FunctionDef() if _takes_context(node):
                yield node.args.args[1].arg
            case _:
                pass


def _takes_context(function: ast.FunctionDef) -> bool:
    """Returns whether the function is one that a check calls: with the output, then with `context`."""
    return [arg.arg for arg in function.args.args[:1]] == ["output"] and len(function.args.args) > 1


def _reads(tree: ast.AST, names: set[str]) -> Iterator[tuple[ast.AST, str]]:
    """Each expression that reads by name, with the path."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn()], comparators=[held]):
                path = _path(held, names)
                read_path = f"{path}.{name}" if path else ""
            case ast.expr():
                read_path = _path(node, names)
            case _:
                continue
        if "." in read_path:
            yield node, read_path


def _handed_on(tree: ast.AST, names: set[str], reads: set[ast.AST]) -> Iterator[str]:
    """The paths of what is neither read on nor given another name that is known."""
    known = {part for node in reads for part in _read_of(node)} | set(_renamed(tree))
    for node in ast.walk(tree):
        stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.expr) and node not in known and not stored and (path := _path(node, names)):
            yield path


def _renamed(tree: ast.AST) -> Iterator[ast.AST]:
    """The expressions that give `context` its other names."""
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _takes_context(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.Name(id="context") as value):
                yield value
            case ast.Call(func=ast.Name(id=name), args=[_, ast.Name() as value, *_]) if name in functions:
                yield value
            case _:
                pass


def _read_of(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions that are read of in that one."""
    match node:
        case ast.Compare(comparators=[held]) | ast.Subscript(value=held) | ast.Call(func=ast.Attribute(value=held)):
            yield held
        case _:
            pass


def _path(node: ast.expr, names: set[str]) -> str:
    """The path of what the expression reads, begun at the mapping itself; nothing for any other expression."""
    match node:
        case ast.Name(id=name) if name in names:
            return "context"
        case ast.Subscript(value=held, slice=ast.Constant(value=str(name))):
            path = _path(held, names)
        case ast.Call(func=ast.Attribute(value=held, attr="get"), args=[ast.Constant(value=str(name)), *_]):
            path = _path(held, names)
        case _:
            return ""
    return f"{path}.{name}" if path else ""
