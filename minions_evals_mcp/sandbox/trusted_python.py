"""The process that runs one trusted Python snippet: a JSON request on standard input, a JSON answer on standard output."""

from __future__ import annotations

import ast
import json
import os
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

_NAME = "<snippet>"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
Answer = dict[str, Any]


def answer_text(request: Answer, missed: list[str], *, builtins: Answer | None = None) -> str:
    """The answer as JSON, whatever the code gave."""
    try:
        return json.dumps(answer(request, missed, builtins=builtins))
    except MemoryError:
        return '{"kind": "memory-limit"}'
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps({"kind": "raised", "error": f"the result is no JSON: {error}", "name": type(error).__name__})


def answer(request: Answer, missed: list[str], *, builtins: Answer | None = None) -> Answer:
    """The answer to {code, variables, before, guards}: {value}, or {kind, error}.

    `missed` takes what the code looked for and is not there; then there is no value.
    """
    module = sys.modules["snippet"] = ModuleType("snippet")  # where dataclasses and the like look for it
    names = module.__dict__
    if builtins is not None:
        names["__builtins__"] = builtins
    place = ""
    try:
        runs = _compiled(request["code"])
    except (SyntaxError, ValueError, RecursionError) as error:
        return _broke("syntax", error, f"line {error.lineno}: " if isinstance(error, SyntaxError) else "")
    try:
        if request["before"]:
            place = "the code before: "
            exec(compile(request["before"], _NAME, "exec"), names)  # noqa: S102  it is trusted, or confined
            place = ""
        names.update(_guarded(request["variables"], request.get("guards", []), missed))
        exec("import json, math, re, statistics\nfrom statistics import *", names)  # noqa: S102  our own words
        value = runs(names)
        return _unread(missed) if missed else {"value": value}
    except MemoryError:
        return {"kind": "memory-limit"}
    except BaseException as error:  # noqa: BLE001  whatever a stranger's code raises is its answer
        return _unread(missed) if missed else _broke("raised", error, f"{place}{_where(error)}")


def _broke(kind: str, error: BaseException, place: str) -> Answer:
    name = type(error).__name__
    return {"kind": kind, "error": f"{place}{name}: {error}", "name": name}


class _Guarded(dict[str, Any]):
    """A mapping that notes which name code looks for that is neither there nor known to stand for nothing.

    Code that goes through all of it, or copies it, is after what is not wholly known.
    """

    def __init__(self, held: dict[str, Any], path: str, absent: list[str], missed: list[str]) -> None:
        super().__init__(held)
        self._path, self._absent, self._missed = path, absent, missed

    def _seek(self, name: object) -> None:
        if not super().__contains__(name) and name not in self._absent:
            self._note(f"{self._path}.{name}, which is not there")

    def _note(self, read: str) -> None:
        self._missed.append(f"the code reads {read}")

    def __getitem__(self, name: str) -> Any:
        self._seek(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._seek(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._seek(name)
        return super().get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        self._seek(name)
        return super().pop(name, *default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        self._seek(name)
        return super().setdefault(name, default)


def _whole(name: str) -> Any:
    """The method of a mapping that goes through all of it, noting that."""
    plain = getattr(dict, name)

    def noting(self: Any, *arguments: Any) -> Any:
        self._note(f"all of {self._path}, of which not everything is known here")
        return plain(self, *arguments)

    return noting


for _name in (
    "__iter__", "__reversed__", "__len__", "__eq__", "__ne__", "__or__", "__ror__", "__repr__", "__reduce_ex__", "copy",
    "items", "keys", "popitem", "values",
):  # fmt: skip
    setattr(_Guarded, _name, _whole(_name))


def _guarded(variables: Answer, guards: list[Any], missed: list[str]) -> Answer:
    for path, absent in reversed(guards):
        *steps, last = path.split(".")
        holder: Any = variables
        for step in steps:
            holder = holder.get(step) or {}
        if isinstance(holder.get(last), dict):
            holder[last] = _Guarded(holder[last], path, absent, missed)
    return variables


def _unread(missed: list[str]) -> Answer:
    return {"kind": "unsupported", "error": missed[0], "name": ""}


def _compiled(code: str) -> Callable[[Answer], Any]:
    """Returns what runs the code among those names: it gives what the code returns, else the value of its last expression.

    Code that returns elsewhere than at its end is run as a function's body, other code as a module.
    """
    tree = ast.parse(code)
    value: ast.expr | None = None
    if tree.body and isinstance(last := tree.body[-1], ast.Expr | ast.Return):
        value = last.value
        del tree.body[-1]
    if _returns(tree):
        function = compile(_as_function(code), _NAME, "exec")
        return lambda names: (exec(function, names), names["__snippet__"]())[1]  # noqa: S102  it is trusted, or confined
    module = compile(tree, _NAME, "exec")
    ending = compile(ast.fix_missing_locations(ast.Expression(value or ast.Constant(None))), _NAME, "eval")
    return lambda names: (exec(module, names), eval(ending, names))[1]  # noqa: S102, S307  as above


def _returns(tree: ast.AST) -> bool:
    """Returns whether a statement returns that is in no function."""
    return any(
        isinstance(node, ast.Return) or (not isinstance(node, _SCOPES) and _returns(node))
        for node in ast.iter_child_nodes(tree)
    )


def _as_function(code: str) -> ast.Module:
    """The code as a function's body that keeps its line numbers, so that it may return; its last expression is returned."""
    body = ast.parse(code).body
    if body and isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    made = ast.parse("def __snippet__(): pass")
    function = made.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body or function.body
    return ast.fix_missing_locations(made)


def _where(error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _NAME]
    if isinstance(error, SyntaxError) and error.filename == _NAME:
        lines.append(error.lineno)
    return f"line {lines[-1]}: " if lines else ""


def main() -> None:
    """Answers the one request; what the snippet prints goes nowhere."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    channel.write(answer_text(json.load(sys.stdin), []))
    channel.flush()
    os._exit(0)  # threads and handlers of the snippet do not keep it
