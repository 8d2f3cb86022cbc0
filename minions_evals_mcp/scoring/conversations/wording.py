"""Reading what is said in a conversation: what stands in a message, and what an agent asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.patterns import linear

_SENTENCE = re.compile("[^.!?\n\u3002\uff01\uff1f]*[.!?\n\u3002\uff01\uff1f]*")
_WORD = re.compile(r"\w+", re.UNICODE)
_ASKS = re.compile(
    r"\b(?:please|provide|give|tell|need|share|enter|send|confirm|state|specify|name|know|have|bitte|nenn\w*|geb\w*|sag\w*|brauch\w*"
    r"|teil\w*|veuillez|donne\w*|indique\w*|besoin|communique\w*|por favor|indi\w+|necesit\w+|proporcion\w+|dig\w+|d[íi]game)\b",
    re.IGNORECASE,
)
"""Words with which a fact is asked for without a question mark, in English, German, French and Spanish."""


def plain(text: str) -> str:
    """The words of a text: without case, accents' form, punctuation and repeated blanks."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def contains(text: str, sought: str) -> bool:
    """Whether the text contains what is sought: words, whatever their case, or a pattern between slashes."""
    if is_pattern(sought):
        return _search(sought[1:-1])(text)
    return sought.casefold() in text.casefold()


def says(text: str, words: str) -> bool:
    """Whether those words stand in the text as whole words, whatever stands between them."""
    wanted = plain(words)
    return bool(wanted) and f" {wanted} " in f" {plain(text)} "


def is_pattern(sought: str) -> bool:
    """Whether what is sought is a pattern: `/…/`."""
    return len(sought) > 2 and sought[0] == sought[-1] == "/"


def vet_sought(sought: str, *, field: str) -> None:
    """Raises `InvalidRecordError` for a pattern that cannot be searched."""
    if not is_pattern(sought):
        return
    try:
        _search(sought[1:-1])
    except InvalidRecordError as error:
        raise InvalidRecordError(error.reason, field=field) from None


@lru_cache(maxsize=256)
def _search(pattern: str):  # noqa: ANN202  what `linear` gives
    return linear(f"(?i){pattern}" if not pattern.startswith("(?") else pattern)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, each with its end."""
    return (found for part in _SENTENCE.findall(text) if (found := part.strip()))


def asking(text: str) -> Iterator[str]:
    """The sentences that ask for something: questions and requests."""
    return (one for one in sentences(text) if one.rstrip("\"')»”").endswith(("?", "\uff1f")) or _ASKS.search(one))


def asks_for(text: str, name: str) -> bool:
    """Whether the message asks for the fact of that name, such as `order number`."""
    return any(says(sentence, name) for sentence in asking(text))
