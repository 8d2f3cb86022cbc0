"""Each regular expression of ours on adversarial texts: names those that take longer than a linear search would.

python .ci/patterns.py [--length 20000]

Takes minutes. Every pattern is searched as it is; one that is only matched at a place, or on short texts, may be named for nothing.
Exit 1 where one is named that stands in no `KNOWN`.
"""

from __future__ import annotations

import argparse
import ast
import re
import signal
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
CALLS = frozenset({"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"})
FLAGS = ("IGNORECASE", "DOTALL", "VERBOSE", "MULTILINE", "ASCII")
MOST_S, SHOWN_S = 1.0, 0.25
KNOWN = frozenset({"dotenv.py", "baselines.py", "selection.py", "json_settings.py"})
"""Modules whose slow patterns are matched at one place of a text, or on one line or option."""


class _TooLongError(Exception):
    pass


def patterns() -> Iterator[tuple[Path, int, re.Pattern[str]]]:
    """Yields every literal pattern with the file and line where it stands."""
    for package in ("minions_evals_mcp", "agent"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Call) and _is_pattern(node):
                    (literal, *_), source = node.args, ast.unparse(node)
                    assert isinstance(literal, ast.Constant)
                    flags = sum(getattr(re, flag) for flag in FLAGS if f"re.{flag}" in source)
                    try:
                        yield file, node.lineno, re.compile(str(literal.value), flags)
                    except re.error:
                        continue


def _is_pattern(node: ast.Call) -> bool:
    called, literal = node.func, node.args[0] if node.args else None
    of_re = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
    is_ours = (of_re and called.attr in CALLS) or (isinstance(called, ast.Name) and called.id == "late")
    return is_ours and isinstance(literal, ast.Constant) and isinstance(literal.value, str)


def texts(pattern: str, length: int) -> Iterator[str]:
    """Yields texts that are nearly matched again and again, of that length."""
    own = sorted(set(re.sub(r"\\[a-zA-Z]", "", pattern)) - set("()[]{}|?*+^$\\"))[:40]
    signs = [*dict.fromkeys([*own, *" a0\n\t\"'\\-_.A{([</é"])]
    yield from (f"{sign * length}\0" for sign in signs)
    yield from (f"{(one + other) * (length // 2)}\0" for one, other in pairwise(signs))
    words = re.sub(r"[\\^$().*+?\[\]{}|]", "", pattern)[:30]
    yield from (f"{words}{sign * length}\0" for sign in (" ", "a"))


def _stop(*_: object) -> None:
    raise _TooLongError


def slowest(pattern: re.Pattern[str], length: int) -> float:
    """The CPU seconds of the slowest search, `MOST_S` where it was broken off."""
    worst = 0.0
    for text in texts(pattern.pattern, length):
        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)
        try:
            pattern.search(text)
        except _TooLongError:
            return MOST_S
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        worst = max(worst, time.process_time() - began)
    return worst


def main() -> None:
    """Prints a line for each slow pattern, and how many were searched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=20_000)
    length: int = parser.parse_args().length
    signal.signal(signal.SIGVTALRM, _stop)
    seen, unknown = set[re.Pattern[str]](), 0
    for file, line, pattern in patterns():
        if pattern not in seen and (took := slowest(pattern, length)) > SHOWN_S:
            unknown += file.name not in KNOWN
            sys.stdout.write(f"{file.relative_to(ROOT)}:{line}: {took:.2f} s: {pattern.pattern[:100]!r}\n")
        seen.add(pattern)
    sys.stdout.write(f"{len(seen)} patterns\n")
    sys.exit(unknown > 0)


if __name__ == "__main__":
    main()
