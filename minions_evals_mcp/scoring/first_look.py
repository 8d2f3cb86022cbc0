"""The quick test whether any of many patterns may stand in a text, told in one pass: most texts hold none, and are not searched one by one.

RE2 looks for all of them at once. It knows no look ahead or back and no letters beyond ASCII, so what it looks for is wider than each
pattern: a text in which it sees nothing holds none of them, another may.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import cast

try:
    import re2
except ImportError:  # no wheel for this system, as on Alpine
    re2 = None

MEMORY = 64 << 20
"""In less, RE2 would search in a slower way."""
_LETTERS = r"\x{80}-\x{10FFFF}"
_CONTROLS = r"\x0b\x1c-\x1f"
_MARK = re.compile(r"\\.|[\[\]^$]|\(\?<?[!=]", re.DOTALL)
_BEGINS = rf"(?:^|[\s{_CONTROLS}{_LETTERS}.!?\"'])"
"""The beginning of the text, of a sentence in it, or of a string."""
_I = str.maketrans("\u0130\u0131", "ii")
"""Python takes them for an i whatever the case."""


def first_look(
    patterns: Iterable[re.Pattern[str]],
    *,
    ascii_only: Iterable[re.Pattern[str]] = (),
    ignore_case: bool = False,
    anywhere: bool = False,
) -> Callable[[str], bool]:
    """Returns what tells whether one of the patterns may stand in a text; `ascii_only` have no letter beyond ASCII at a word's end.

    `anywhere`: in any of its sentences, too, for which they are made.
    """
    several = [
        _widened(pattern.pattern, anywhere=anywhere).replace(r"\b", "") for pattern in patterns
    ]  # RE2 sees no end of a word beside an é
    several += [_widened(pattern.pattern, anywhere=anywhere) for pattern in ascii_only]
    if re2 is None:
        return lambda _: True
    options = re2.Options()
    options.never_capture, options.max_mem, options.case_sensitive = True, MEMORY, not ignore_case
    pattern_found = re2.compile("(?m)" + "|".join(f"(?:{pattern})" for pattern in several), options)
    search = cast("Callable[[bytes], object]", pattern_found.search)

    def may_hold(text: str) -> bool:
        plain = text if text.isascii() else text.translate(_I)
        return search(plain.encode("utf-8", "replace")) is not None

    return may_hold


def _widened(pattern: str, *, anywhere: bool) -> str:
    """The pattern without looks ahead and back, with every letter, digit and space; `anywhere`: at the beginning of each sentence."""
    parts: list[str] = []
    at, in_class = 0, False
    while mark := _MARK.search(pattern, at):
        parts.append(pattern[at : mark.start()])
        at = mark.end()
        if mark[0].startswith("(?"):
            at = _end(pattern, mark.start())
        elif mark[0] in {"^", "$"}:
            parts.append(mark[0] if in_class or not anywhere else _BEGINS if mark[0] == "^" else "")
        elif mark[0] in {"[", "]"}:
            parts.append(mark[0])
            in_class = mark[0] == "["
        else:
            parts.append(_wide(mark[0], in_class=in_class))
    return "".join((*parts, pattern[at:]))


def _wide(escape: str, *, in_class: bool) -> str:
    if escape not in {r"\w", r"\s", r"\d"}:
        return escape
    wide = escape + (_CONTROLS if escape == r"\s" else "") + _LETTERS
    return wide if in_class else f"[{wide}]"


def _end(pattern: str, at: int) -> int:
    """Returns where the group that begins there is over."""
    depth = 0
    for match in re.finditer(r"\\.|\[(?:\\.|[^\]\\])*+(?:\]|\Z)|[()]", pattern[at:], re.DOTALL):
        depth += (match[0] == "(") - (match[0] == ")")
        if depth == 0:
            return at + match.end()
    raise AssertionError(f"a group of {pattern} has no end")
