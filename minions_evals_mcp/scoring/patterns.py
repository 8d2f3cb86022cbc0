"""Patterns written for JavaScript's RegExp (no flags), searched by an engine whose time is linear in the text.

What such an engine cannot do (look-around, back-references) is searched elsewhere, under a time limit. The
rewriting makes both engines agree with JavaScript where they would differ: `.`, `$`, `\\s`, `\\uXXXX`, named groups,
and what a bare `{`, `[` or `-` means. Beyond JavaScript the leading flags `(?i)`, `(?m)` and `(?s)` are understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, cast

try:
    import re2
except ImportError:  # no wheel for this system, as on Alpine
    re2 = None

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.values import excerpt

Search = Callable[[str], bool]

PATTERN_LIMIT = 1_000
_SPACES = "\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NO_SPACES = (
    "\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\ufefe"
    "\uff00-\U0010ffff"
)
_LINE_ENDS = "\n\r\u2028\u2029"
_KEPT = frozenset("dDwW")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\x0c", "v": "\x0b", "0": "\x00"}
_SPECIAL = frozenset("\\.+*?()|[]{}^$-&~#")
_FLAGS = late(r"\(\?([ims]+)\)")
PYTHONS = late(r"\(\?(?:[ims]+\)|P<)")
"""What is understood beyond JavaScript; a config of promptfoo's that uses it fails there."""
_TOKEN = late(
    r"""(?P<unit>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})
      | (?P<control>\\c[A-Za-z])
      | (?P<named>\\k<\w+>)
      | (?P<numbered>\\[1-9]\d*)
      | (?P<escape>\\.)
      | (?P<quantifier>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
      | (?P<around>\(\?<?[=!])
      | (?P<name>\(\?P?<\w+>)
      | (?P<group>\(\?i?:)
      | (?P<foreign>\(\?)
      | (?P<all>\[\^\])
      | (?P<open>\[\^?)
      | (?P<char>.)""",
    re.DOTALL | re.VERBOSE,
)


_Re2Error = cast("type[Exception]", Exception if re2 is None else re2.error)
NO_ENGINE = "it is searched in linear time only, which needs the package google-re2: pip install google-re2"


class _Compiled(Protocol):
    def search(self, text: bytes) -> object | None: ...


class _Finding(Protocol):
    def search(self, text: str, pos: int) -> PatternMatch | None: ...


@frozen_type
class Elsewhere:
    """A pattern, rewritten, that only a backtracking engine can search."""

    pattern: str


def linear(pattern: str) -> Search:
    """Returns how to search for a pattern; raises `InvalidRecordError` also for one that is `Elsewhere`."""
    search = compiled(pattern)
    if isinstance(search, Elsewhere):
        if re2 is None:
            raise _bad(pattern, NO_ENGINE)
        raise _bad(pattern, "look-around, back-references and counts over 1,000 are not supported here")
    return search


class PatternMatch(Protocol):
    """A place where an expression fits."""

    def start(self) -> int:
        """The character at which it begins."""
        ...

    def end(self) -> int:
        """The character behind it."""
        ...

    def group(self, number: int, /) -> str:
        """The text of it, or of a group in it."""
        ...

    def groups(self) -> tuple[str | None, ...]:
        """The texts of its groups."""
        ...

    def groupdict(self) -> dict[str, str | None]:
        """The texts of its groups by name."""
        ...


Matcher = Callable[[str, int], PatternMatch | None]


def matcher(pattern: str) -> Matcher:
    """Returns how to find the first match from a character on; raises `InvalidRecordError` as `linear` does."""
    linear(pattern)
    assert re2 is not None, "else the line above refuses"
    search = cast("_Finding", re2.compile(_Rewriting(pattern).result())).search
    return lambda text, at: search(_without_lone_surrogates(text) if not _is_sound(text) else text, at)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Search | Elsewhere:
    """Returns how to search for a pattern; raises `InvalidRecordError` for one that is too long or no expression."""
    if len(pattern) > PATTERN_LIMIT:
        raise _bad(pattern, f"it has {len(pattern):,} characters; at most {PATTERN_LIMIT:,} are allowed")
    rewritten = _Rewriting(pattern).result()
    if re2 is None:
        return _elsewhere(pattern, rewritten)
    options = re2.Options()
    options.log_errors = False
    try:
        search = cast("_Compiled", re2.compile(rewritten, options)).search
    except (_Re2Error, UnicodeEncodeError):
        return _elsewhere(pattern, rewritten)

    def matches(text: str) -> bool:  # as bytes: told where in a text it found something, it would count characters
        try:
            return search(text.encode()) is not None
        except UnicodeEncodeError:
            return search(_without_lone_surrogates(text).encode()) is not None

    return matches


def _elsewhere(pattern: str, rewritten: str) -> Elsewhere:
    import regex  # noqa: PLC0415  imported at first use: 24 ms that few patterns need

    try:
        regex.compile(rewritten)
    except (regex.error, RecursionError, OverflowError) as error:
        raise _bad(pattern, str(error)) from None
    return Elsewhere(rewritten)


def _without_lone_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_sound(text: str) -> bool:
    """Returns whether the text holds no half of a character."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _bad(pattern: str, reason: str) -> InvalidRecordError:
    return InvalidRecordError(f"the pattern {excerpt(pattern)} is refused: {reason}", field="value")


class _Rewriting:
    """One pass over a pattern, from JavaScript's dialect into what re2 and `regex` both read alike."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._position = 0
        self._flags = ""
        self._out: list[str] = []

    def result(self) -> str:
        """The pattern rewritten; raises `InvalidRecordError` for what JavaScript does not read."""
        if flags := _FLAGS.match(self.pattern):
            self._flags = flags[1]
            self._position = flags.end()
            self._out.append(flags[0])
        previous = ""
        while token := _TOKEN.match(self.pattern, self._position):
            self._position = token.end()
            kind = token.lastgroup or ""
            if kind == previous == "quantifier":
                raise self._refused(f"nothing to repeat before {token[0]!r}")
            self._out.append(self._class(token[0]) if kind == "open" else self._outside(kind, token[0]))
            previous = kind
        return "".join(self._out)

    def _outside(self, kind: str, text: str) -> str:
        match kind:
            case "named":
                return f"(?P={text[3:-1]})"
            case "name":
                return "(?P<" + text[text.index("<") + 1 :]
            case "all":
                return "(?s:.)"
            case "char":
                return self._char(text)
            case "escape" if text[1] in "bB":
                return text
            case "foreign":
                raise self._refused(f"unknown group {self.pattern[self._position - 2 :][:4]!r}")
            case "quantifier" | "group" | "around" | "numbered":
                return text
            case _:
                return self._escape(kind, text, spaces=f"[{_SPACES}]", no_spaces=f"[^{_SPACES}]")

    def _char(self, char: str) -> str:
        match char:
            case ".":
                return "." if "s" in self._flags else f"[^{_LINE_ENDS}]"
            case "$":
                return "$" if "m" in self._flags else r"\z"
            case "{" | "}" | "]":
                return "\\" + char
            case "\\":
                raise self._refused("it ends with a backslash")
            case _:
                return char

    def _class(self, opening: str) -> str:
        parts: list[tuple[str, bool]] = []
        while token := _TOKEN.match(self.pattern, self._position):
            if token[0][0] == "]":
                self._position += 1
                return opening + self._joined(parts) + "]" if parts else self._refuse_empty()
            if token[0][0] != "\\":
                char = self.pattern[self._position]
                self._position += 1
                parts.append((char if char == "-" else _literal(char), False))
                continue
            self._position = token.end()
            kind = token.lastgroup or ""
            text = "\x08" if token[0] == r"\b" else self._escape(kind, token[0], spaces=_SPACES, no_spaces=_NO_SPACES)
            parts.append((text, kind == "escape" and token[0][1] in "dDwWsS"))
        raise self._refused("missing ]")

    def _joined(self, parts: list[tuple[str, bool]]) -> str:
        """The members of a class, with a `-` beside a set such as `\\w` taken as itself, as JavaScript does."""
        ends = (0, len(parts) - 1)
        sets = {index for index, (_, is_set) in enumerate(parts) if is_set}
        beside = {index + step for index in sets for step in (-1, 1)}
        return "".join(
            r"\-" if text == "-" and (index in ends or index in beside) else text
            for index, (text, _) in enumerate(parts)
        )

    def _escape(self, kind: str, text: str, *, spaces: str, no_spaces: str) -> str:
        match kind, text[1:2]:
            case "unit", _:
                return _literal(self._unit(text))
            case "control", _:
                return _literal(chr(ord(text[2]) % 32))
            case "escape", letter if letter in _KEPT:
                return text
            case "escape", "s":
                return spaces
            case "escape", "S":
                return no_spaces
            case "escape", letter if letter in _CONTROLS:
                return _CONTROLS[letter]
            case "escape", sign if not sign.isalnum():
                return _literal(sign)
            case _:
                raise self._refused(f"JavaScript has no {text}")

    def _unit(self, text: str) -> str:
        codes = [int(code, 16) for code in re.findall(r"[0-9a-fA-F]{2,4}", text)]
        if len(codes) == 1 and 0xD800 <= codes[0] <= 0xDFFF:
            raise self._refused(f"{text} is half a character")
        return _without_lone_surrogates("".join(map(chr, codes)))

    def _refuse_empty(self) -> str:
        raise self._refused("an empty class matches nothing")

    def _refused(self, reason: str) -> InvalidRecordError:
        return _bad(self.pattern, reason)


def _literal(char: str) -> str:
    return "\\" + char if char in _SPECIAL else char
