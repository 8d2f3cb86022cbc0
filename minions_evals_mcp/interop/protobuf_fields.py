"""The number of values of a protobuf message, before any is made: sixteen megabytes can hold eight million messages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

LONGEST_VARINT = 63
VARINT, EIGHT_BYTES, SIZED, GROUP, END_OF_GROUP, FOUR_BYTES = 0, 1, 2, 3, 4, 5
_DOUBLE, _FLOAT, _FIXED64, _FIXED32, _STRING, _MESSAGE, _BYTES, _SFIXED32, _SFIXED64 = 1, 2, 6, 7, 9, 11, 12, 15, 16
_BYTES_EACH = {_DOUBLE: 8, _FIXED64: 8, _SFIXED64: 8, _FLOAT: 4, _FIXED32: 4, _SFIXED32: 4}
"""The bytes of a number in a packed list, by the type of its field; of all other numbers it may be one."""


def more_fields_than(most: int, body: bytes, kind: Descriptor) -> bool:
    """Returns whether the message holds more values than that; raises `ValueError` for what is no protobuf."""
    waiting = [(0, len(body), kind)]
    number = 0
    try:
        while waiting and number <= most:
            at, end, message = waiting.pop()
            parts, numbers = _sized_fields(message)
            groups = 0  # nobody knows them: they are counted, and not looked into
            while at < end and number <= most:
                number += 1
                tag = body[at]
                tag, at = (tag, at + 1) if tag < 0x80 else _varint(body, at)
                groups += (tag & 7 == GROUP) - (tag & 7 == END_OF_GROUP)
                at, size = _past(body, at, tag & 7)
                field = tag >> 3
                if not size or groups:
                    continue
                if field in parts:
                    waiting.append((at - size, at, parts[field]))
                elif field in numbers:
                    number += size // numbers[field]
    except IndexError:
        raise ValueError("cut off") from None
    return number > most


@cache
def _sized_fields(message: Descriptor) -> tuple[dict[int, Descriptor], dict[int, int]]:
    """By their numbers: the fields that are messages themselves, and the bytes of each number in those that are lists of them."""
    parts: dict[int, Descriptor] = {}
    numbers: dict[int, int] = {}
    for field in message.fields:
        if field.type == _MESSAGE and field.message_type is not None:
            parts[field.number] = field.message_type
        elif field.type not in (_STRING, _BYTES):
            numbers[field.number] = _BYTES_EACH.get(field.type, 1)
    return parts, numbers


def _past(body: bytes, at: int, kind: int) -> tuple[int, int]:
    """Returns where the value ends, and how long it is if that is said."""
    if kind == SIZED:
        size = body[at]
        size, at = (size, at + 1) if size < 0x80 else _varint(body, at)
        return at + size, size
    if kind == VARINT:
        return _varint(body, at)[1], 0
    if kind in (EIGHT_BYTES, FOUR_BYTES):
        return at + (8 if kind == EIGHT_BYTES else 4), 0
    if kind in (GROUP, END_OF_GROUP):
        return at, 0
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
