"""Personal data that rules can tell, masked: mail addresses, telephone and card numbers, bank accounts, addresses of machines."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from itertools import accumulate

from pydantic import JsonValue

from minions_evals_mcp.frozen_types import frozen_type

_LONGEST = 100_000
"""So many characters of one text are searched; what lies beyond is cut off, so that nothing unmasked is kept."""


@frozen_type
class Kind:
    """A kind of personal data: how it is written, and what tells it from other numbers."""

    name: str
    written: re.Pattern[str]
    is_one: Callable[[str], bool] = lambda _: True


def _digits(text: str) -> list[int]:
    return [int(character) for character in text if character.isdigit()]


def _is_card(text: str) -> bool:
    """Whether the digits fit Luhn's sum."""
    digits = _digits(text)
    doubled = [digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(reversed(digits))]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the check digits of ISO 13616 fit."""
    squeezed = re.sub(r"\s", "", text).upper()
    if not 15 <= len(squeezed) <= 34:
        return False
    moved = "".join(str(int(character, 36)) for character in squeezed[4:] + squeezed[:4])
    *_, rest = accumulate(moved, lambda left, digit: str(int(left + digit) % 97), initial="0")
    return int(rest) == 1


def _is_telephone(text: str) -> bool:
    return 8 <= len(_digits(text)) <= 15


def _is_machine(text: str) -> bool:
    try:
        return not ip_address(text).is_unspecified
    except ValueError:
        return False


_TELEPHONE = re.compile(
    r"(?<![\w+])(?:\+\d{1,3}[ ./-]?|\(0\d{1,4}\) ?|0\d{2,4}[ /-])\(?\d{1,5}\)?(?:[ ./-]?\d{2,5}){1,4}(?!\w)"
)
KINDS = (
    Kind("email", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}(?!\w)")),
    Kind("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b"), _is_iban),
    Kind("card", re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])"), _is_card),
    Kind("ssn", re.compile(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")),
    Kind("phone", _TELEPHONE, _is_telephone),
    Kind("ip", re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])"), _is_machine),
)  # fmt: skip


@frozen_type
class Masked:
    """A text without its personal data, and how often each kind stood in it."""

    text: str
    found: tuple[str, ...] = ()


def masked_text(text: str) -> Masked:
    """The text with each piece of personal data in the form [KIND]."""
    found: list[str] = []
    text = text[:_LONGEST]
    for kind in KINDS:

        def mask(match: re.Match[str], kind: Kind = kind) -> str:
            if not kind.is_one(match[0]):
                return match[0]
            found.append(kind.name)
            return f"[{kind.name}]"

        text = kind.written.sub(mask, text)
    return Masked(text, tuple(found))


def masked_value(value: JsonValue, found: list[str]) -> JsonValue:
    """The value with its texts and keys masked; `found` takes the kinds."""
    match value:
        case str():
            masked = masked_text(value)
            found += masked.found
            return masked.text
        case list():
            return [masked_value(item, found) for item in value]
        case dict():
            return {str(masked_value(key, found)): masked_value(item, found) for key, item in value.items()}
        case int() if not isinstance(value, bool) and abs(value) >= 10**12 and _is_card(str(value)):
            found.append("card")
            return "[card]"
        case _:
            return value
