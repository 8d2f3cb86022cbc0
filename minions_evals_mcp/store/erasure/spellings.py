"""Whether a text holds a subject, however it is written: as escaped or encoded text, in other code points, broken over lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from unicodedata import normalize
from urllib.parse import unquote_plus

MOST_LAYERS = 4
"""A text that was escaped in a text, and so on: so often it is unpacked."""
_GAP = re.compile(r"\s+")
_PLAIN = re.compile(r"[a-z0-9]+")
"""Signs that no way of writing a text changes."""
_ESCAPED = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def folded(text: str) -> str:
    """The text in one case, one form of its letters, and with one space for each gap."""
    lower = text.casefold() if text.isascii() else normalize("NFC", normalize("NFC", text).casefold())
    return _GAP.sub(" ", lower)


@dataclass(frozen=True, slots=True)
class ForgottenSubject:
    """What is looked for, folded, and its longest run of signs that stay as they are: most texts lack it, and are not unpacked."""

    needle: str
    anchor: str

    @classmethod
    def of(cls, text: str) -> ForgottenSubject:
        """The subject that the text names."""
        needle = folded(text)
        return cls(needle, max(_PLAIN.findall(needle), key=len, default=""))

    def is_in(self, text: str) -> bool:
        """Whether the text, or what it unpacks to, contains the subject."""
        return self.anchor in text.casefold() and any(self.needle in folded(reading) for reading in _readings(text))


def _readings(text: str) -> Iterator[str]:
    """The text, and what it says once JSON's escapes, an address's and a page's are undone."""
    yield text
    for _ in range(MOST_LAYERS):
        before = text
        for sign, unpacked in (("\\", _without_escapes), ("&", unescape), ("%", unquote_plus), ("+", unquote_plus)):
            if sign in text and (other := unpacked(text)) != text:
                text = other
                yield text
        if text == before:
            return


def _without_escapes(text: str) -> str:
    plain = _ESCAPED.sub(_sign, text)
    try:
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    except UnicodeError:
        return plain


def _sign(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return _SIGNS.get(found[2], found[2])
