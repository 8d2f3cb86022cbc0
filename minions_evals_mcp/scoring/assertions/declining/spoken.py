"""The parts of a text that a reader sees: its sentences, lower case and without markup, also where the text is JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from minions_evals_mcp.domain.outputs import json_texts
from minions_evals_mcp.scoring.lenient import parsed

OPENS_JSON = frozenset({"{", "[", '"'})
_STRINGS_READ = 50
_QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u00b4": "'", "`": "'", "\u201c": '"', "\u201d": '"'}
    | {end: f"{end}\n" for end in "\u3002\uff01\uff1f"}
)
_MARKUP = re.compile(r"[*_#>]+")
_FENCE = re.compile(r"\A```[a-z]*\n(.*)\n```\Z", re.DOTALL | re.IGNORECASE)
_QUOTED = r"(?:\"[^\"\n]{1,600}\"|\u201c[^\u201d\n]{1,600}\u201d|\u00ab[^\u00bb\n]{1,600}\u00bb|\u201e[^\u201c\n]{1,600}\u201c)"
_SAY = (
    r"(?:said|says|replied|replies|answered|answers|told|tells|asked|asks|whispered|whispers|shouted|shouts|cried|cries|muttered|"
    r"mutters|explained|explains|insisted|insists|warned|warns|responded|responds|declared|declares|sagt|sagte|antwortet|"
    r"antwortete|erwiderte|rief|dit|r\u00e9pondit|r\u00e9pond|dijo|respondi\u00f3|disse|rispose|respondeu)"
)
_REPORTED = re.compile(
    rf"(?P<before>\b(?!(?:i|we)\b)[^\W\d_]+\s+{_SAY}(?:\s+[^\W\d_]+){{0,4}}\s*[,:]\s*){_QUOTED}"
    rf"|{_QUOTED}(?=\s*,?\s*(?:{_SAY}[\s-]+(?!(?:i|we)\b)[^\W\d_]|(?!(?:i|we)\b)(?:[^\W\d_]+\s+){{1,3}}{_SAY}\b))"
    r"|「[^」\n]{1,600}」(?=と)|(?<!我)[说說][\uff1a:\uff0c,]?\s*[\u201c\"「][^\u201d\"」\n]{1,600}[\u201d\"」]"
    r"|\b(?:сказал|ответил|заявил|написал|спросил)[аи]?\s*[:,]\s*\u00ab[^\u00bb\n]{1,600}\u00bb",
    re.IGNORECASE,
)
"""Speech that the text gives to somebody else. A narrator's own ("I said") is not counted as such."""
_SENTENCE_END = re.compile(r"[\"')\s](?:(?<=[.!?][\"')])[\"')]*\s+|(?<=[.!?]\s)\s*|(?<=\n)\n*)")
"""Begins with a character that is looked for at once, not with what stands before it: a third of the time."""


def spoken(text: str) -> Iterator[str]:
    """The text, or the strings in it where it is JSON, a code fence around it stripped."""
    bare = match[1].strip() if (match := _FENCE.match(text)) else text
    if bare[:1] not in OPENS_JSON:
        yield text
        return
    try:
        strings = list(json_texts(parsed(bare)))
    except (json.JSONDecodeError, RecursionError):
        strings = [text]
    yield from strings[:_STRINGS_READ]


def without_reported(text: str) -> str:
    """The text without what somebody in it is quoted as saying: a guard in a story may refuse, the text does not."""
    return _REPORTED.sub(lambda match: f'{match["before"] or ""}"..."', text)


def sentences(text: str) -> list[str]:
    """The sentences, lower case, with typewriter quotes and without markup."""
    return [sentence for part in _SENTENCE_END.split(plain(text)) if (sentence := part.strip())]


def plain(text: str) -> str:
    """The text in lower case, with typewriter quotes and without markup."""
    straight = text.replace("`", "'") if text.isascii() else text.translate(_QUOTES)
    return (_MARKUP.sub("", straight) if any(sign in straight for sign in "*_#>") else straight).lower()
