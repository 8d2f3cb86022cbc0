"""The secrets that this process knows, and the mark that stands in their place in whatever others say.

One list for the whole process: a log line or an error has no engine at hand that it could ask.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING
from urllib.parse import quote

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late

if TYPE_CHECKING:
    from pydantic import JsonValue  # for annotations alone: `--help` needs no pydantic

SHORTEST = 16
"""A shorter value may well be a plain word, which a mark would take out of texts that say nothing secret."""
SHORTEST_KEY = 8
"""A setting that is a key counts from here on, where it has letters and digits."""
SECRET_NAME = re.compile(r"key|token|secret|password|passwd|passphrase", re.IGNORECASE)
KEY_LOOKS = late(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9][A-Za-z0-9_-]{18,}|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}"
    r"|gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}"
    r"|ya29\.[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|gsk_[A-Za-z0-9]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|dop_v1_[a-f0-9]{40,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"
)
"""What vendors begin their keys with, and JSON Web Tokens: known by their look, wherever they stand."""
_BEGINS = (
    "sk", "pk_", "rk_", "gh", "gl", "hf_", "xo", "xa", "AK", "AS", "AI", "ya29.", "npm_", "pypi-", "gsk_", "SG.", "dop_", "whsec_", "eyJ",
)  # fmt: skip
"""A look at these spares most processes the pattern."""
_OF_ADDRESS = late(r"[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{0,200}:([^\s/@]{1,500})@", re.IGNORECASE)
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+(\S+)", re.IGNORECASE)


@frozen_type
class _Known:
    """The mark for each way in which a secret may be written down, and a pattern for all of them."""

    marks: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    pattern: re.Pattern[str] = field(default=re.compile(r"(?!)"), repr=False)

    def are_in(self, text: str) -> bool:
        return any(spelling in text for spelling in self.marks)


class _Process:
    """The facts that this process knows by now."""

    known = _Known()


def remember(values: Iterable[str | None]) -> None:
    """Replaces these from now on, but for those under 16 characters."""
    _add(value for value in _stripped(values) if len(value) >= SHORTEST)


def remember_keys(values: Iterable[str | None]) -> None:
    """The same for settings that are nothing but keys, which may be shorter (8) where they are no plain word."""
    _add(value for value in _stripped(values) if len(value) >= SHORTEST or _is_short_key(value))


def remember_named(variables: Mapping[str, str | None]) -> None:
    """The same for variables whose name says key, token, secret or password, and for values that are keys by their look.

    Of an address with a password, it is the password.
    """
    values = [(name, value.strip()) for name, value in variables.items() if value is not None]
    remember(value for name, value in values if SECRET_NAME.search(name) or _looks_like_a_key(value))
    remember_keys(found[1] for _, value in values if "://" in value and (found := _OF_ADDRESS.match(value)))


def forget() -> None:
    """Knows none any more."""
    _Process.known = _Known()


def any_known() -> bool:
    """Returns whether this process knows any: else no text needs to be looked through."""
    return bool(_Process.known.marks)


def masked(text: str) -> str:
    """The text with `[secret DIGEST]` in place of every known secret."""
    known = _Process.known
    if not known.marks:
        return text
    return known.pattern.sub(lambda match: known.marks[match[0]], text) if known.are_in(text) else text


def masked_json(value: JsonValue) -> JsonValue:
    """The same for every text in a JSON value, names included."""
    return with_each_text(value, masked)


def with_each_text(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """The JSON value with every text changed so, names included."""
    match value:
        case str():
            return change(value)
        case list():
            return [with_each_text(part, change) for part in value]
        case dict():
            return {change(name): with_each_text(part, change) for name, part in value.items()}
        case _:
            return value


def counted(text: str) -> dict[str, int]:
    """Returns how often each known secret stands in the text, by the digest that its mark names."""
    known = _Process.known
    if not known.are_in(text):
        return {}
    return dict(Counter(known.marks[secret].split()[1][:-1] for secret in known.pattern.findall(text)))


def spellings() -> tuple[str, ...]:
    """Every way in which a known secret may be written down: for a search in what was kept before it was known."""
    return tuple(_Process.known.marks)


def _stripped(values: Iterable[str | None]) -> Iterator[str]:
    return (value.strip() for value in values if value is not None)


def _looks_like_a_key(value: str) -> bool:
    return value.startswith(_BEGINS) and KEY_LOOKS.fullmatch(value) is not None


def _is_short_key(value: str) -> bool:
    return len(value) >= SHORTEST_KEY and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _add(values: Iterable[str]) -> None:
    marks = dict(_Process.known.marks)
    for value in values:
        mark = f"[secret {hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}]"
        marks |= dict.fromkeys(_spellings(value), mark)
    longest_first = sorted(marks, key=len, reverse=True)
    _Process.known = _Known(marks, re.compile("|".join(map(re.escape, longest_first)) or "(?!)"))


def _spellings(value: str) -> set[str]:
    """The value as it is, in a JSON text, in an address, in a page; a header's value without its scheme, too."""
    scheme = _SCHEME.fullmatch(value)
    plain = [value] if scheme is None or len(scheme[1]) < SHORTEST else [value, scheme[1]]
    return {
        spelling
        for text in plain
        for spelling in (
            text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], quote(text, safe=""), html.escape(text),
        )
    }  # fmt: skip
