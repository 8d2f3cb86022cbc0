"""The number of fields of an OTLP request in protobuf, before any is made: sixteen megabytes can hold eight million messages."""

from __future__ import annotations

LONGEST_VARINT = 63
VARINT, EIGHT_BYTES, SIZED, FOUR_BYTES = 0, 1, 2, 5
_PARTS: dict[str, dict[int, str]] = {
    "request": {1: "resource-spans"},
    "resource-spans": {1: "resource", 2: "scope-spans"},
    "resource": {1: "attribute", 3: "bytes"},
    "scope-spans": {1: "scope", 2: "span"},
    "scope": {3: "attribute"},
    "span": {9: "attribute", 11: "event", 13: "link", 15: "bytes"},
    "event": {3: "attribute"},
    "link": {4: "attribute"},
    "attribute": {2: "value"},
    "value": {5: "values", 6: "attributes"},
    "values": {1: "value"},
    "attributes": {1: "attribute"},
    "bytes": {},
}
"""Which fields of which message are messages themselves, by their numbers in opentelemetry-proto."""


def more_fields_than(most: int, body: bytes) -> bool:
    """Returns whether the request holds more fields than that; what is no protobuf holds as many as can be read."""
    waiting = [(0, len(body), "request")]
    number = 0
    try:
        while waiting and number <= most:
            at, end, message = waiting.pop()
            while at < end and number <= most:
                number += 1
                tag, at = _varint(body, at)
                at, size = _past(body, at, tag & 7)
                part = _PARTS[message].get(tag >> 3) if size else None
                if part is not None:
                    waiting.append((at - size, at, part))
    except (IndexError, ValueError):  # cut off or damaged: the reader says so
        return False
    return number > most


def _past(body: bytes, at: int, kind: int) -> tuple[int, int]:
    """Returns where the value ends, and how long it is if that is said."""
    if kind == SIZED:
        size, at = _varint(body, at)
        return at + size, size
    if kind == VARINT:
        return _varint(body, at)[1], 0
    if kind in (EIGHT_BYTES, FOUR_BYTES):
        return at + (8 if kind == EIGHT_BYTES else 4), 0
    raise ValueError(kind)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > LONGEST_VARINT:
            raise ValueError(shift)
