"""Content digests: equal digests mean measured alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from pydantic import JsonValue


def canonical(value: JsonValue) -> str:
    """JSON with sorted keys and no spaces: one text for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def text_digest(text: str) -> str:
    """The first 128 bits of the text's SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest(value: JsonValue) -> str:
    """The digest of a JSON value, whatever the order of its keys."""
    return text_digest(canonical(value))


def combined(digests: Iterable[str | None]) -> str | None:
    """One digest for a set of them, whatever their order; none where the set is empty."""
    distinct = sorted({one for one in digests if one is not None})
    if len(distinct) <= 1:
        return distinct[0] if distinct else None
    return text_digest("\n".join(distinct))
