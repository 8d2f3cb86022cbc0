"""Code that a function reaches by name: functions, types and values of the user's own modules, each with its source.

Nothing is run or imported for it: names are looked up where they stand now, and a value is told by the statement that
sets it, not by what it holds (which may be a key, or another one with every run). Only a text or number that no statement
tells, or several, counts by the digest of what it is now, unless code sets it or its name is a secret's.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import resolve_name
from itertools import islice
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import cast

from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.known_secrets import SECRET_NAME
from minions_evals_mcp.targets.code_files import content_digest, data_of, is_own

Dotted = tuple[str, ...]
READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
PLAIN = frozenset({str, bytes, int, float, complex, bool, type(None)})
TABLES = frozenset({list, tuple, set, frozenset})
DIGITS = 8
MOST_HELD = 200
"""How many entries of a table of functions are looked at."""


def reached_sources(function: object) -> list[str]:
    """The source of everything that the function reaches, itself among it, in an order that no run changes."""
    reach = _Reach()
    reach.value(function)
    return sorted(set(reach.sources.values()))


def source_text(value: object) -> str | None:
    """The source of a function or type, or None where none is to be had."""
    try:
        return inspect.getsource(value)  # pyright: ignore[reportArgumentType]  refused below where it is neither
    except (OSError, TypeError, IndentationError, SyntaxError):
        return None


def code_text(code: CodeType) -> str:
    """Returns what a function without a source consists of, the same in every process."""
    inner = [code_text(constant) if isinstance(constant, CodeType) else repr(constant) for constant in code.co_consts]
    return f"{code.co_name} {code.co_names} {inner} {code.co_code.hex()}"


@dataclass(slots=True)
class _Reach:
    """The objects that the names of a piece of code lead to, and what was found there."""

    sources: dict[str, str] = field(default_factory=dict[str, str])
    seen: set[int] = field(default_factory=set[int])
    held: list[object] = field(default_factory=list[object])
    """What was seen, kept alive so that no other object takes its place in memory."""

    def value(self, value: object) -> None:
        """Follows a function, method, type, partial, object of an own type, or table of these."""
        kind = type(value)  # not isinstance: a proxy would be asked for what it stands for
        if id(value) in self.seen or kind in PLAIN:
            return
        self.seen.add(id(value))
        self.held.append(value)
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._type(value)
        elif issubclass(kind, partial):
            called = cast("partial[object]", value)
            self._several([called.func, *called.args, *called.keywords.values()])
        elif issubclass(kind, MethodType):
            method = cast("MethodType", value)
            self._several([method.__func__, method.__self__])
        elif kind is dict:
            self._several(cast("dict[object, object]", value).values())
        elif kind in TABLES:
            self._several(cast("list[object]", value))
        else:
            self._several([inspect.getattr_static(value, "__wrapped__", None), kind])

    def _several(self, values: Iterable[object]) -> None:
        for value in list(islice(values, MOST_HELD)):
            self.value(value)

    def _function(self, function: FunctionType) -> None:
        if _is_own(function.__code__.co_filename):
            source = source_text(function)
            name = f"{function.__module__}.{function.__qualname__}"
            self.sources[name] = code_text(function.__code__) if source is None else source
            self._names(_read_names(function.__code__) | _written_names(source), function.__globals__)
            self._several([*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()])
            self._closure(function, name)
            self._data(source, function.__code__.co_filename)
        self._several([vars(function).get("__wrapped__")])

    def _closure(self, function: FunctionType, name: str) -> None:
        """Follows what the function closes over; a text or number there counts by its digest, if no code changes it."""
        changed_variables = _changed_variables(function.__code__)
        for variable, value in _closed_over(function):
            if type(value) in PLAIN and variable not in changed_variables:
                self.sources[f"{name}.{variable}"] = f"# {variable}: {text_digest(repr(value))[:DIGITS]}"
            self.value(value)

    def _type(self, value: type) -> None:
        module = sys.modules.get(value.__module__)
        if module is None or not _is_own(_file(module)):
            return
        source = source_text(value)
        self.sources[f"{value.__module__}.{value.__qualname__}"] = value.__qualname__ if source is None else source
        self._names(_written_names(source), vars(module))
        self._data(source, _file(module))
        members = (
            getattr(attribute, "__func__", getattr(attribute, "fget", attribute)) for attribute in vars(value).values()
        )
        self._several([*value.__bases__, *(method for method in members if type(method) is FunctionType)])

    def _names(self, names: Iterable[Dotted], scope: Mapping[str, object]) -> None:
        for dotted in sorted(names):
            self._name(dotted, scope)

    def _name(self, dotted: Dotted, scope: Mapping[str, object]) -> None:
        """Follows `a.b.c` through own modules to what stands there, and to the statement that set it."""
        for name in dotted:
            value = scope.get(name)
            if type(value) is not ModuleType:
                if name in scope:
                    self._statement(str(scope.get("__name__", "")), name)
                self.value(value)
                return
            if not _is_own(_file(value)):
                return
            scope = vars(value)

    def _data(self, source: str | None, file: str | None) -> None:
        """The files that this source of a module's file names, each by the digest of what it holds."""
        if source and file is not None and Path(file).is_file():
            for path in data_of(Path(file).resolve(), _text(file), source, Path.cwd()):
                name = os.path.relpath(path)
                self.sources[f"file {name}"] = f"# {name}: {content_digest(path)[:DIGITS]}"

    def _statement(self, module_name: str, name: str) -> None:
        """The statement at the module's top that sets the name; what it reads is followed, too."""
        module = sys.modules.get(module_name)
        file = None if module is None else _file(module)
        if module is None or file is None or f"{module_name}.{name}" in self.sources or not _is_own(file):
            return
        held = _statements_of(module, file)
        if name in held.imported:
            relative, imported = held.imported[name]
            source = sys.modules.get(resolve_name(relative, module.__package__))
            if source is not None and _is_own(_file(source)):
                self._name((imported,), vars(source))
            return
        written = held.assigned.get(name, [])
        secret = SECRET_NAME.search(name) is not None
        text = "\n".join(written)
        parts = [f"# {name}: {text_digest(text)[:DIGITS]}" if secret else text] if written else []
        value = vars(module).get(name)
        if len(written) != 1 and type(value) in PLAIN and not secret and name not in _set_by_code(vars(module)):
            parts.append(f"# {name}: {text_digest(repr(value))[:DIGITS]}")
        if parts:
            self.sources[f"{module_name}.{name}"] = "\n".join(parts)
        self._names(_written_names(text), vars(module))
        self._data(text, file)


def _set_by_code(scope: Mapping[str, object]) -> set[str]:
    """The module's names that a function or method of it sets: a counter is no constant."""
    types = [value for value in scope.values() if type(value) is type]
    held = [*scope.values(), *(member for kind in types for member in vars(kind).values())]
    codes = [value.__code__ for value in held if type(value) is FunctionType and value.__globals__ is scope]
    return {name for code in codes for name in _stored(code)}


def _stored(code: CodeType) -> set[str]:
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname == "STORE_GLOBAL"}
    return names.union(*(_stored(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _closed_over(function: FunctionType) -> Iterator[tuple[str, object]]:
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has not been set yet
            yield variable, cell.cell_contents


def _changed_variables(code: CodeType) -> set[str]:
    return {str(step.argval) for step in dis.get_instructions(code) if step.opname == "STORE_DEREF"}


def _file(module: ModuleType) -> str | None:
    """The module's file; a cell of a notebook and what was typed have none, and are the user's own."""
    return getattr(module, "__file__", None) or ("<input>" if module.__name__ == "__main__" else None)


@cache
def _is_own(file: str | None) -> bool:
    """Returns whether the file is the user's: not of Python, of an installed package, or of this one. A cell of a notebook is."""
    if not file or file.startswith("<frozen"):
        return False
    if file.startswith("<"):
        return True
    return is_own(file)


def _read_names(code: CodeType) -> set[Dotted]:
    """The global names that the code reads, with the attributes that it reads of them at once; inner functions' too."""
    names: set[Dotted] = set()
    chain: Dotted = ()
    for step in dis.get_instructions(code):
        if step.opname in READS:
            names.add(chain)
            chain = (str(step.argval),)
        elif chain and step.opname in ATTRIBUTES:
            chain = (*chain, str(step.argval))
        else:
            names.add(chain)
            chain = ()
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return {code for code in names.union(*(_read_names(name) for name in inner)) if code}


def _written_names(source: str | None) -> set[Dotted]:
    """The names in a type's or a statement's source; of a function those of its decorators and defaults only."""
    try:
        body = ast.parse(textwrap.dedent(source or "")).body
    except SyntaxError:
        return set()
    parts: list[ast.AST] = []
    for node in body:
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        defaults = (
            [*node.args.defaults, *(default for default in node.args.kw_defaults if default)] if is_function else []
        )
        parts += [*node.decorator_list, *defaults] if is_function else [node]
    return {dotted for part in parts for node in ast.walk(part) if (dotted := _dotted(node))}


def _dotted(node: ast.AST) -> Dotted:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return (name,)
        case ast.Attribute(value=value, attr=name):
            before = _dotted(value)
            return (*before, name) if before else ()
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class _Statements:
    """The names that a module's top level sets: sources of assignments by name, and where imported names come from."""

    assigned: dict[str, list[str]]
    imported: dict[str, tuple[str, str]]


def _text(file: str) -> str:
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


def _statements_of(module: ModuleType, file: str) -> _Statements:
    """The statements of a module's file; of a notebook those of its cells, the last that sets a name."""
    cells = vars(module).get("In")
    if getattr(module, "__file__", None) or not isinstance(cells, list):
        return _statements(_text(file))
    held = _Statements({}, {})
    for cell in cast("list[object]", cells):
        ran = _statements(str(cell))
        held.assigned.update({name: written[-1:] for name, written in ran.assigned.items()})
        held.imported.update(ran.imported)
    return held


@cache
def _statements(text: str) -> _Statements:
    held = _Statements({}, {})
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return held
    while body:
        node = body.pop(0)
        match node:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                source = ast.get_source_segment(text, node) or ""
                for name in _targets(node):
                    held.assigned.setdefault(name, []).append(source)
            case ast.ImportFrom():
                source = "." * node.level + (node.module or "")
                held.imported.update({name.asname or name.name: (source, name.name) for name in node.names})
            case ast.If() | ast.Try() | ast.With():
                handlers = node.handlers if isinstance(node, ast.Try) else []
                orelse = [] if isinstance(node, ast.With) else node.orelse
                body = [*node.body, *(statement for each in handlers for statement in each.body), *orelse, *body]
            case _:
                pass
    return held


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
