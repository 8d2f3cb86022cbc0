"""Parts of real Python that the interpreter of snippets lacks: code that wants it is right, and cannot be judged here."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from functools import lru_cache

_TOLD = (
    re.compile(r"'(?P<of>\w+)' object has no attribute '(?P<name>\w+)'"),
    re.compile(r"type object '(?P<of>\w+)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"module '(?P<of>[\w.]+)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<of>[\w.]+)'"),
    re.compile(r"(?P<of>)name '(?P<name>\w+)' is not defined"),
)
_INTERNAL = "Internal error in monty: "
_UNSUPPORTED = re.compile(r"\bnot yet supported\b|^Wildcard imports \(.*\) are not supported$")


def lacking(error: Exception) -> str | None:
    """Returns what the interpreter lacks, where that is why the error was raised."""
    message = str(error)
    match error:
        case RuntimeError() if message.startswith(_INTERNAL):
            return message.removeprefix(_INTERNAL)
        case AttributeError() | ImportError() | NameError():
            return _absent(message)
        case NotImplementedError() | TypeError() if _UNSUPPORTED.search(message):
            return message
        case _:
            return None


def _absent(message: str) -> str | None:
    """The method, function or class that Python's own has under that name."""
    match = next((match for pattern in _TOLD if (match := pattern.match(message))), None)
    if match is None:
        return None
    of, name = match["of"], match["name"]
    if not of:
        return f"no {name}" if hasattr(builtins, name) else None
    if of in sys.modules:
        return f"no {of}.{name}" if hasattr(sys.modules[of], name) else None
    kind: object = getattr(builtins, of, None)
    if not isinstance(kind, type) or not hasattr(kind, name):
        return None
    return f"no {of}.{name}, or only where it is called at once"


_OTHERWISE = frozenset({"hasattr", "__name__"})
_ITERATES = frozenset({"iter", "next"})


@lru_cache(maxsize=256)
def answered_otherwise(code: str) -> str:
    """Returns what stands in the code and means something else in the interpreter than in Python; nothing where nothing does."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the interpreter says what is wrong with it
        return ""
    return next(_otherwise(tree), "")


def _otherwise(tree: ast.AST) -> Iterator[str]:
    consumed = set[ast.AST]()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in _OTHERWISE:
                yield name
            case ast.Call(func=function, args=[*arguments]) if not (
                isinstance(function, ast.Name) and function.id in _ITERATES
            ):
                consumed.update(arguments)
            case ast.GeneratorExp() if node not in consumed:
                yield "generators"
            case _:
                pass
