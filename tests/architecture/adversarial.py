"""Every regular expression of ours, and long texts that are made to keep each of them busy.

`python -m tests.architecture.adversarial` says which of them take time that grows faster than the text, and on what.
"""

from __future__ import annotations

import ast
import gc
import importlib
import math
import os
import pkgutil
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import agent
import minions_evals_mcp

ROOT = Path(__file__).parents[2]
SHORT, LONG = 500, 4_000
GROWTH = 24
"""A text 8 times as long takes a linear pattern about 8 times as long, and one that grows with the square 64 times."""
SECONDS = 0.01
"""CPU time below which a pattern is fast on the long text, whatever its growth."""
KILLED_AFTER = 2
ATTEMPTS = 3
"""A pattern is slow if each attempt shows it, so that one disturbed measurement does not make it so."""
CALLS = frozenset({"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer", "late"})
CALLED = re.compile(rf"\bre\.(?:{'|'.join(sorted(CALLS))})\(|\blate\(")
parser: Any = importlib.import_module("re._parser")
"""The library's own reader of patterns, which has no public name."""
SPARE = ("a", " ", "1", "\n", '"', "\\", "-", ".", "(", "é")


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern with its flags, and where it stands."""

    where: str
    pattern: str
    flags: int
    ways: tuple[str, ...] = ("search",)
    """How it is used: a pattern that is only matched from the beginning need not be fast from every place."""


def modules() -> Iterator[ModuleType]:
    """Every module of the product that can be imported here; programs that run when imported are left out."""
    for package in (minions_evals_mcp, agent):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.rpartition(".")[2] in {"__main__", "monty_launcher"}:
                continue
            try:
                yield importlib.import_module(info.name)
            except (ImportError, SystemExit, IndexError, KeyError):  # an extra that is not here, or a worker's program
                continue


def patterns() -> list[Found]:
    """All of them, each once: compiled ones that modules hold, and literal ones in the code."""
    found: dict[tuple[str, int], Found] = {}
    for module in modules():
        for name, value in vars(module).items():
            for pattern in _held(value, 3):
                where, ways = f"{module.__name__}.{name}", _ways(name, module, direct=pattern is value)
                found.setdefault((pattern.pattern, pattern.flags), Found(where, pattern.pattern, pattern.flags, ways))
    for package in (minions_evals_mcp, agent):
        for file in sorted(Path(package.__path__[0]).rglob("*.py")):
            for one in _written(file):
                if not any(known == one.pattern for known, _ in found):
                    found[one.pattern, one.flags] = one
    return sorted(found.values(), key=lambda one: (one.where, one.pattern))


@cache
def _uses() -> dict[str, dict[str, set[str]]]:
    """By name of a module's file, and under "" of all together: what is asked of each name, as `search` in `_NAME.search`."""
    uses: dict[str, dict[str, set[str]]] = {"": {}}
    for package in (minions_evals_mcp, agent):
        for file in Path(package.__path__[0]).rglob("*.py"):
            of_module = uses.setdefault(str(file), {})
            for name, asked in re.findall(r"\b(\w+)\.(?=(\w+))", file.read_text("utf-8")):
                for where in (of_module, uses[""]):
                    where.setdefault(name, set()).add(asked)
    return uses


def _ways(name: str, module: ModuleType, *, direct: bool) -> tuple[str, ...]:
    """How the pattern of that name is used anywhere; as a search where that is not seen."""
    where = str(module.__file__) if name.startswith("_") else ""
    seen = _uses()[where].get(name, set[str]()) if direct else set[str]()
    if not seen or not seen <= {"match", "fullmatch"}:
        return ("search",)
    return tuple(sorted(seen))


def _held(value: Any, depth: int) -> Iterator[Any]:
    if hasattr(value, "fullmatch") and hasattr(value, "pattern") and isinstance(value.pattern, str):
        yield value
    elif depth and isinstance(value, dict | list | tuple | frozenset):
        parts: list[Any] = [*value.keys(), *value.values()] if isinstance(value, dict) else [*value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType, reportUnknownVariableType]
        for part in parts:
            yield from _held(part, depth - 1)


def _written(file: Path) -> Iterator[Found]:
    text = file.read_text("utf-8")
    if not CALLED.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = (
            node.func.value.id if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) else ""
        )
        if called in CALLS and (owner == "re" or called == "late") and isinstance(node.args[0].value, str):
            flags = re.DOTALL if "DOTALL" in ast.unparse(node) else 0
            flags |= re.IGNORECASE if "IGNORECASE" in ast.unparse(node) else 0
            flags |= re.MULTILINE if "MULTILINE" in ast.unparse(node) else 0
            flags |= re.VERBOSE if "VERBOSE" in ast.unparse(node) else 0
            ways = (called,) if called in {"match", "fullmatch"} else ("search",)
            yield Found(f"{file.relative_to(ROOT)}:{node.lineno}", node.args[0].value, flags, ways)


def pumps(found: Found) -> list[str]:
    """Texts made of the letters and words that the pattern speaks of, over and over, and what ends in something else."""
    words = [*dict.fromkeys([*_words(parser.parse(found.pattern, found.flags & ~re.UNICODE)), *SPARE])]
    singles = [word for word in words if len(word) == 1][:7]
    pairs = [one + other for one in singles[:3] for other in singles[:3] if one != other]
    longer = [word for word in words if len(word) > 1][:4]
    return [*singles, *pairs, *longer, *[f"{word} " for word in longer]]


def _words(parsed: Any) -> Iterator[str]:
    """The literals, runs of them, and a letter of each class."""
    run = ""
    for kind, argument in parsed:
        name = str(kind)
        if name == "LITERAL":
            run += chr(argument)
            yield chr(argument)
            continue
        if len(run) > 1:
            yield run
        run = ""
        yield from _inside(name, argument)
    if len(run) > 1:
        yield run


def _inside(name: str, argument: Any) -> Iterator[str]:
    if name == "IN":
        yield from (
            chr(part[1] if str(part[0]) == "LITERAL" else part[1][0])
            for part in argument
            if str(part[0]) in {"LITERAL", "RANGE"}
        )
        yield from (letter for part in argument if str(part[0]) == "CATEGORY" for letter in _of_class(str(part[1])))
    elif name == "CATEGORY":
        yield from _of_class(str(argument))
    elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        yield from _words(argument[2])
    elif name == "BRANCH":
        for branch in argument[1]:
            yield from _words(branch)
    elif name in {"SUBPATTERN", "ASSERT", "ASSERT_NOT"}:
        yield from _words(argument[-1])
    elif name == "ATOMIC_GROUP":
        yield from _words(argument)


def _of_class(name: str) -> str:
    return {"CATEGORY_SPACE": " \n\t", "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a_"}.get(name, "a-")


def busy(several: Sequence[Found]) -> list[tuple[Found, str]]:
    """Those that some text keeps busy for longer than that, each with the letters that the text repeats."""
    slow: list[tuple[Found, str]] = []
    at = 0
    while at < len(several):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            gc.disable()  # it would copy every page that it looks at, which counts as time of a search
            os.close(reading)
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            try:
                _tried(several, at, writing)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as told:
            lines = [line.rstrip("\n").split("\t", 2) for line in told]
        os.waitpid(child, 0)
        slow += [(several[int(place)], pump) for how, place, pump in lines if how == "slow"]
        how, place, pump = lines[-1]
        if how == "begun":  # a search hears no signal: the process was killed in it
            slow.append((several[int(place)], pump))
        at = int(place) + 1
    return slow


def _tried(several: Sequence[Found], first: int, writing: int) -> None:
    """Searches in each text, in a process that is killed where one takes seconds."""
    for place in range(first, len(several)):
        pump = _keeps_busy(several[place], place, writing)
        os.write(writing, f"{'slow' if pump else 'done'}\t{place}\t{pump}\n".encode())


def _keeps_busy(found: Found, place: int, writing: int) -> str:
    compiled = re.compile(found.pattern, found.flags)
    for pump in pumps(found):
        os.write(writing, f"begun\t{place}\t{pump!r}\n".encode())
        for end in ("", "\x00"):
            if all(_grows(compiled, found.ways, pump, end) for _ in range(ATTEMPTS)):
                return repr(pump)
    return ""


def _grows(compiled: re.Pattern[str], ways: Sequence[str], pump: str, end: str) -> bool:
    """Searching the long text takes disproportionately longer than searching the short one."""
    long = _taken(compiled, ways, f"!{pump * (LONG // len(pump))}{end}" if end else pump * (LONG // len(pump)))
    if long <= SECONDS:
        return False
    short = _taken(compiled, ways, f"!{pump * (SHORT // len(pump))}{end}" if end else pump * (SHORT // len(pump)))
    return long > GROWTH * short


def _taken(compiled: re.Pattern[str], ways: Sequence[str], text: str) -> float:
    """CPU seconds of this process; the process is killed where it takes many more than a linear pattern can."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + KILLED_AFTER, resource.RLIM_INFINITY))
    for way in ways:
        getattr(compiled, way)(text)
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - used


if __name__ == "__main__":
    everything = patterns()
    found = busy(everything)
    for one, text in found:
        sys.stdout.write(f"{one.where}: {one.pattern[:120]!r} on {text[:60]}…\n")
    sys.stdout.write(f"{len(everything)} patterns, {len(found)} not linear up to {LONG} characters\n")
