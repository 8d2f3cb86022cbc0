"""Fields of small protobuf messages, written without the package that makes large ones."""

from __future__ import annotations


def varint_of(number: int) -> bytes:
    """The number as protobuf writes it: seven bits a byte, the lowest first."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def sized(field: int, content: bytes) -> bytes:
    """A field with a text, bytes or a message in it."""
    return varint_of(field << 3 | 2) + varint_of(len(content)) + content


def counted(field: int, number: int) -> bytes:
    """A field with a number in it."""
    return varint_of(field << 3) + varint_of(number)
