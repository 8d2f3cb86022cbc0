"""Values of arguments and results by kind, so that like is compared with like: codes, numbers, days, times, addresses, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from pydantic import JsonValue

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.dates import take_clocks, take_dates
from minions_evals_mcp.scoring.failures.mentions import LINK, ORDINARY, WORD, stem
from minions_evals_mcp.scoring.failures.texts import flat, leaves

Kind = Literal["code", "number", "day", "time", "address", "name", "word"]
LONGEST = 4_000
"""So many characters of one value are read."""
MOST = 100
"""So many values of one step are read."""
_CODE = late(r"(?<![\w.])#?[A-Za-z0-9]+(?:[-_/.:#][A-Za-z0-9]+)*(?![\w@])")
_MEASURE = late(
    r"\d+(?:[.,]\d+)?(?:st|nd|rd|th|[a-zA-Z°%]{1,3})|[A-Za-z]\d|v?\d+(?:\.\d+)+|\d+x\d+|[\d/.:,-]+", re.IGNORECASE
)
_NUMBERED = late(r"#\d{2,}|(?=(?:\D*\d){5})\d+(?:[-/]\d+)+")
_NUMBER = late(r"(?<![\w.,-])-?\d+(?:[.,]\d+)?(?![\w-]|[.,]\d)")
_NAME = late(r"[^\W\d_a-zß-ÿ][\w'.&-]*(?: (?:(?:of|de|da|di|van|von|der|la|le|and|&) )?[^\W\d_a-zß-ÿ][\w'.&-]*){0,4}")
_PART = late(r"[A-Z]?[a-zß-ÿ]+|[A-Z]+(?![a-z])|\d+")
_RUN = late(r"[A-Za-z]+|\d+")
_IDLE = frozenset(
    (
        "id",
        "ids",
        "nr",
        "no",
        "number",
        "nummer",
        "ref",
        "reference",
        "key",
        "code",
        "name",
        "value",
        "numero",
        "num",
        "the",
    )
)


@frozen_type
class Known:
    """A value and where it stands: under which key, at which step (-1: the input), next to which words."""

    text: str
    kind: Kind
    key: str
    place: int
    near: frozenset[str] = frozenset()

    @property
    def shape(self) -> str:
        """Returns what values of the same make have in common: `A-9` for B-301 and A-77."""
        return shape(self.text) if self.kind in {"code", "number"} else self.kind


def kind_of(value: JsonValue) -> Kind | None:
    """The kind of a whole value; None for booleans, null, and texts of another making."""
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        return None
    text = str(value).strip()
    if isinstance(value, int | float) or _NUMBER.fullmatch(text):
        return "number"
    if not text or len(text) > 80:
        return None
    return _kind_of_text(text)


def _kind_of_text(text: str) -> Kind | None:
    if LINK.fullmatch(text):
        return "address"
    if _is_day(text):
        return "day"
    if _is_time(text):
        return "time"
    if is_code(text):
        return "code"
    if _NAME.fullmatch(text):
        return "name"
    return "word" if re.fullmatch(r"[a-zß-ÿ_-]+", text) else None


def is_code(token: str) -> bool:
    """Returns whether the token is a made-up name of a thing: letters and digits that are no measure, or digits in several parts."""
    if _NUMBERED.fullmatch(token):
        return True
    return (
        1 < len(token) <= 64
        and any(map(str.isdigit, token))
        and any(map(str.isalpha, token))
        and not _MEASURE.fullmatch(token)
        and " " not in token
    )


@lru_cache(maxsize=8_192)
def shape(code: str) -> str:
    """The code with each run of letters as A and each run of digits as 9."""
    return _RUN.sub(lambda match: "9" if match[0][0].isdigit() else "A", code.lstrip("#"))


@lru_cache(maxsize=4_096)
def key_words(key: str) -> frozenset[str]:
    """The stems of the telling words in a key: {"order"} for `orderId` and `order_number`."""
    parts = (part.casefold() for part in _PART.findall(key.replace("_", " ")))
    return frozenset(stem(part) for part in parts if part not in _IDLE)


def values_in(value: JsonValue, place: int) -> Iterator[Known]:
    """The values in a structure: whole leaves by their kind, and what stands in the texts."""
    for count, (key, leaf) in enumerate(leaves(value)):
        if count >= MOST:
            return
        if isinstance(leaf, bool) or leaf is None:
            continue
        kind = kind_of(leaf)
        if kind is not None:
            yield Known(str(leaf).strip(), kind, key, place, key_words(key))
        if isinstance(leaf, str) and (kind is None or " " in leaf):
            yield from _mentions(leaf[:LONGEST], key, place)


def _mentions(text: str, key: str, place: int) -> Iterator[Known]:
    for link in LINK.findall(text):
        yield Known(link.rstrip(".,;:!?"), "address", key, place, key_words(key))
    rest = LINK.sub(" ", text)
    days, rest = take_dates(rest)
    for day in days:
        yield Known(day.shown, "day", key, place, key_words(key))
    clocks, rest = take_clocks(rest)
    for clock in clocks:
        yield Known(clock.shown, "time", key, place, key_words(key))
    for match in _CODE.finditer(rest):
        if is_code(match[0]):
            yield Known(match[0], "code", key, place, _around(rest, match.start(), match.end()))
    for match in _NUMBER.finditer(rest):
        yield Known(match[0], "number", key, place, _around(rest, match.start(), match.end()))
    for match in _NAME.finditer(rest):
        begins = " " not in match[0] and _begins_sentence(rest, match.start())
        if match[0].casefold() not in ORDINARY and len(match[0]) > 2 and not begins:
            yield Known(match[0].rstrip("."), "name", key, place, _around(rest, match.start(), match.end()))


def _begins_sentence(text: str, at: int) -> bool:
    """Before the first word of a sentence, which says nothing by its capital."""
    before = at
    while before and text[before - 1].isspace():
        before -= 1
        if text[before] == "\n":
            return True
    return at == 0 or (before > 0 and text[before - 1] in ".!?:")


def _around(text: str, start: int, end: int) -> frozenset[str]:
    """The stems of the two words before and the two after."""
    before = WORD.findall(text[max(0, start - 40) : start])[-2:]
    after = WORD.findall(text[end : end + 40])[:2]
    return frozenset(stem(word) for word in (*before, *after))


def folded(value: JsonValue) -> str:
    """The value as text that can be looked for: case-folded, with single blanks."""
    text = flat(value) if isinstance(value, dict | list) else str(value)
    return " ".join(text[:LONGEST].casefold().split())


def _is_day(text: str) -> bool:
    days, rest = take_dates(text)
    return bool(days) and not rest.strip()


def _is_time(text: str) -> bool:
    clocks, rest = take_clocks(text)
    return bool(clocks) and not rest.strip()
