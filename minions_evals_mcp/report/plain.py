"""Text under test, made safe for a terminal."""

from __future__ import annotations

_TURNING = frozenset(chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C))


def shortened(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, cut between words."""
    clean = printable(text, 8 * limit)
    if len(clean) <= limit:
        return clean
    head = clean[: max(limit - 1, 0)]
    at = head.rfind(" ") if clean[len(head)] != " " else len(head)
    return head[: at if at > limit // 2 else len(head)].rstrip(" ,;:.") + "…"


def printable(text: str, limit: int = 200) -> str:
    """The text on one line: no control or direction characters, cut at `limit` characters."""
    kept = text[: limit * 4]
    clean = "".join(
        " " if one in "\n\t\r" else one
        for one in kept
        if one in "\n\t\r" or (one.isprintable() and one not in _TURNING)
    )
    return clean if len(clean) <= limit and len(kept) == len(text) else clean[: limit - 1] + "…"
