"""Spoils texts and bytes in the ways that have broken readers before."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

EVIL_TEXTS = (
    "", " ", "-", "--", "-1", "0", "1e999", "nan", "NaN", "9" * 400, "a" * 60_000, "\u202e\u200b\x1b[2Jx", "\U0001d54f" * 500, "é" * 4000,
    "../../../etc/passwd", "/etc/passwd", "/dev/null", "/", ".", "..", "~", "~root", "$(id)", "{{7*7}}", "%s%n", "' OR 1=1 --", "(a+)+$",
    "[" * 900, "{" * 900, "null", "[]", "{}", "=", "a=b", "a=", "=b", "@file", "*", "?", "\n", "\t", "a\nb", "\\", '"', "'", "#",
    "&&", "latest",
    "run-v1", "c1", "b", "b:1.1", "1.1", ":", "c1:c1:c1", "python:os:system", "command:", "http://127.0.0.1:1/", "openai:",
    "file:///etc/passwd",
    "1970-01-01", "9999-12-31", "0000-00-00", "2026-13-45T99:99", "5x", "1d", "-1d", "1e308", "0x10", "٣", "true", "yes", "text~",
    "text~(", "status=",
)  # fmt: skip
"""Words for whatever takes a word; none with a NUL, which no program can be started with."""
EVIL_JSON = (
    b"null", b"true", b"-1", b"1e400", b"9" * 400, b"NaN", b"Infinity", b'""', b'"\\u0000"', b'"\\ud800"', b"[]", b"{}", b"[[[]]]",
    b"[" * 300 + b"]" * 300, b'{"a":' * 200 + b"1" + b"}" * 200, b'"' + b"x" * 70_000 + b'"', b'{"$ref":"#"}', b'"../../x"', b"1.5",
    b"[null]",
    b'{"":{}}', b'"2026-99-99T00:00:00Z"', b"-9223372036854775809", b"18446744073709551616", b'"\x1b[2J"', b"0.0000001e-400",
)  # fmt: skip
_VALUE = re.compile(rb'(?<=[:\[,])\s{0,3}(?:"(?:[^"\\]|\\.){0,200}"|-?\d[\d.]{0,20}|true|false|null|\{\}|\[\])')


def spoilt(raw: bytes, draw: random.Random) -> bytes:
    """The content harmed once or a few times."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        raw = draw.choice(_HARMS)(raw, draw)
    return raw


def _value(raw: bytes, draw: random.Random) -> bytes:
    places = [match.span() for match in _VALUE.finditer(raw[:400_000])]
    if not places:
        return _flip(raw, draw)
    begin, end = draw.choice(places)
    return raw[:begin] + draw.choice(EVIL_JSON) + raw[end:]


def _flip(raw: bytes, draw: random.Random) -> bytes:
    if not raw:
        return bytes([draw.randrange(256)])
    at = draw.randrange(len(raw))
    return raw[:at] + bytes([draw.randrange(256)]) + raw[at + 1 :]


def _cut(raw: bytes, draw: random.Random) -> bytes:
    return raw[: draw.randrange(len(raw) + 1)]


def _without(raw: bytes, draw: random.Random) -> bytes:
    begin, end = sorted(draw.randrange(len(raw) + 1) for _ in range(2))
    return raw[:begin] + raw[min(end, begin + 4000) :]


def _twice(raw: bytes, draw: random.Random) -> bytes:
    begin, end = sorted(draw.randrange(len(raw) + 1) for _ in range(2))
    return raw[:end] + raw[begin:end][:20_000] + raw[end:]


def _inserted(raw: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(raw) + 1)
    return (
        raw[:at]
        + draw.choice(
            (b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b"{", b"[", b'"', b",", b"\x1b[2J", *EVIL_JSON)
        )
        + raw[at:]
    )


def _around(raw: bytes, draw: random.Random) -> bytes:
    return draw.choice(
        (
            lambda: b"[" + raw + b"]",
            lambda: raw.decode("utf-8", "replace").encode("utf-16"),
            lambda: raw * 2,
            lambda: b"",
        )
    )()


_HARMS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _value,
    _value,
    _value,
    _flip,
    _cut,
    _without,
    _twice,
    _inserted,
    _around,
)
