"""Content digests: equal digests mean measured alike."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

import orjson
from pydantic import JsonValue

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
"""What is no JSON value is refused, as `json` does."""
_EXPONENT = re.compile(r"\de[+-]\d")


def canonical(value: JsonValue, *, finite: bool = False) -> str:
    """JSON with sorted keys and no spaces: one text for one value.

    Raises `ValueError` for NaN and infinities; with `finite` there are known to be none, and they are not looked for.
    """
    try:
        text = orjson.dumps(value, option=_OPTIONS).decode()  # a tenth of the time
    except TypeError:  # whole numbers over 64 bits, half a surrogate pair, deep nesting
        return _canonical(value)
    not_sure = _has_exponent(text) or "0.0000" in text or (not finite and "null" in text)  # it writes null for NaN
    return _canonical(value) if not_sure else text


def _has_exponent(text: str) -> bool:
    """Returns whether a number may be written with one: `orjson` writes 1.5e-7 where `json` writes 1.5e-07."""
    return ("e-" in text or "e+" in text) and _EXPONENT.search(text) is not None


def _canonical(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def json_text(value: Mapping[str, JsonValue]) -> str:
    """The mapping as JSON, for a row: its keys in their order. Half a surrogate pair is written as an escape."""
    try:
        return orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS).decode()
    except TypeError:
        return json.dumps(value, allow_nan=False)


def text_digest(text: str) -> str:
    """The first 128 bits of the text's SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest(value: JsonValue, *, finite: bool = False) -> str:
    """The digest of a JSON value, whatever the order of its keys; `finite` as for `canonical`."""
    return text_digest(canonical(value, finite=finite))


def combined(digests: Iterable[str | None]) -> str | None:
    """One digest for a set of them, whatever their order; none where the set is empty."""
    distinct = sorted({part for part in digests if part is not None})
    if len(distinct) <= 1:
        return distinct[0] if distinct else None
    return text_digest("\n".join(distinct))
