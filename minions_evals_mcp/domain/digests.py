"""Content digests: equal digests mean measured alike."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

import orjson
from pydantic import JsonValue

_OTHERWISE = re.compile(rb"\de[+-]?\d|0\.0000")
"""Where `orjson` may write a number otherwise than `json`: very large and very small ones."""


def canonical(value: JsonValue, *, finite: bool = False) -> str:
    """JSON with sorted keys and no spaces: one text for one value.

    Raises `ValueError` for NaN and infinities; with `finite` there are known to be none, and they are not looked for.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)  # a tenth of the time
    except TypeError:  # whole numbers over 64 bits, half a surrogate pair, deep nesting
        return _canonical(value)
    not_sure = _OTHERWISE.search(text) or (not finite and b"null" in text)  # it writes null for NaN
    return _canonical(value) if not_sure else text.decode()


def _canonical(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def text_digest(text: str) -> str:
    """The first 128 bits of the text's SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest(value: JsonValue, *, finite: bool = False) -> str:
    """The digest of a JSON value, whatever the order of its keys; `finite` as for `canonical`."""
    return text_digest(canonical(value, finite=finite))


def combined(digests: Iterable[str | None]) -> str | None:
    """One digest for a set of them, whatever their order; none where the set is empty."""
    distinct = sorted({one for one in digests if one is not None})
    if len(distinct) <= 1:
        return distinct[0] if distinct else None
    return text_digest("\n".join(distinct))
