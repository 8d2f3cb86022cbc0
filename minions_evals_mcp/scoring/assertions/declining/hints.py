"""Whether a text may decline at all, told in one pass over it: most texts may not, and are not read sentence by sentence.

RE2 looks for all signs at once. It knows no look-ahead and no letters beyond ASCII, so what it looks for is wider than each
sign: a text without a hint holds no sign, a text with one may.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import cast

import re2

from minions_evals_mcp.scoring.assertions.declining.english import DECLINES, MORALS, SIGNS
from minions_evals_mcp.scoring.assertions.declining.languages import LANGUAGES

MEMORY = 64 << 20
"""In less, RE2 would search in a slower way."""
_LETTERS = r"\x{80}-\x{10FFFF}"


def may_decline(text: str) -> bool:
    """Whether a sign may stand in the text, which is lower case and without markup."""
    return _any_sign()(text.encode("utf-8", "replace")) is not None


@cache
def _any_sign() -> Callable[[bytes], object]:
    """Searches for what alone makes a refusal, and for the "not" of "I cannot" in each other language."""
    moral = frozenset[str]().union(*MORALS)
    english = [DECLINES, *(sign.pattern for sign in SIGNS if sign.core or sign.name in moral)]
    foreign = [
        sign for one in LANGUAGES for sign in (one.phrase, one.apology, one.regret, one.machine, one.inability[-1])
    ]
    several = [
        *(_widened(sign.pattern) for sign in english),
        *(_widened(sign.pattern).replace(r"\b", "") for sign in foreign),  # RE2 sees no end of a word beside an é
    ]
    options = re2.Options()
    options.never_capture, options.max_mem = True, MEMORY
    found = re2.compile("(?m)" + "|".join(f"(?:{one})" for one in several), options)
    return cast("Callable[[bytes], object]", found.search)


def _widened(pattern: str) -> str:
    """The pattern without look-aheads, with every letter among `\\w`."""
    kept: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith(("(?!", "(?="), at):
            at = _end(pattern, at)
        elif pattern[at] == "\\":
            kept.append(_wide(pattern[at : at + 2], in_class=_in_class(kept)))
            at += 2
        else:
            kept.append(pattern[at])
            at += 1
    return "".join(kept)


def _wide(escape: str, *, in_class: bool) -> str:
    if escape not in {r"\w", r"\s"}:
        return escape
    return escape + _LETTERS if in_class else f"[{escape}{_LETTERS}]"


def _in_class(kept: list[str]) -> bool:
    """Whether what was kept ends within brackets."""
    before = "".join(part for part in kept if len(part) == 1)
    return before.rfind("[") > before.rfind("]")


def _end(pattern: str, at: int) -> int:
    """Where the group that begins there is over."""
    depth = 0
    for found in re.finditer(r"\\.|\[(?:\\.|[^\]])*\]|[()]", pattern[at:], re.DOTALL):
        depth += (found[0] == "(") - (found[0] == ")")
        if depth == 0:
            return at + found.end()
    raise AssertionError(f"a group of {pattern} has no end")
