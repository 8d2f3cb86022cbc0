"""Text under test, made safe for a terminal."""

from __future__ import annotations

_TURNING = frozenset(chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C))


def printable(text: str, limit: int = 200) -> str:
    """The text on one line: no control or direction characters, cut at `limit` characters."""
    kept = text[: limit * 4]
    clean = "".join(
        " " if one in "\n\t\r" else one
        for one in kept
        if one in "\n\t\r" or (one.isprintable() and one not in _TURNING)
    )
    return clean if len(clean) <= limit and len(kept) == len(text) else clean[: limit - 1] + "…"
