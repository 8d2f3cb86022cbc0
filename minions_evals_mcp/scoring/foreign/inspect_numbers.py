"""Numbers in text as Inspect's `match(numeric=True)` reads them (inspect-ai 0.3.285, `scorer/_common.py` and `_unicode.py`)."""

from __future__ import annotations

import math
import re
import unicodedata

TRIMMED = "!?:;()[]{}'\"`"
"""Signs round a number that do not belong to it; `<`, `>` and `~` make it a bound, and stay."""
MINUS, PLUS = frozenset("-\u2212\ufe63\uff0d"), frozenset("+\uff0b\ufe62")
DECIMAL = frozenset("\u066b\uff0e")
GROUPING = frozenset(",\uff0c\ufe50\u3001\u066c \u00a0\u202f\u2009\u2007\u2008'\u2019\u02bc\uff07")
CHINESE = frozenset("零〇○一二三四五六七八九壹贰貳叁參肆伍陆陸柒捌玖两兩幺廿卅卌十拾百佰千仟万萬亿億兆点點负負正")
SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
EXPONENT_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
LARGEST_POWER = 400


class UnreadableNumberError(Exception):
    """The text may hold a number in a notation that is not read here (Chinese numerals)."""


def stripped(text: str) -> str:
    """The text without currency signs, thousands separators and emphasis; a full stop stays only before a digit."""
    plain = re.sub(r"\\([$,£,€*_])", r"\1", text)
    return re.sub(r"\.(?=\s|$|\D)", "", re.sub(r"[$,£€*_]", "", plain))


def number_of(text: str, *, trim: bool = True) -> float | None:
    """The finite number that the text is, else None; raises `UnreadableNumberError`."""
    word = text.strip(TRIMMED) if trim else text
    try:
        plain = float(word)
    except ValueError:
        plain = math.nan
    if math.isfinite(plain):
        return plain
    found = _unicode_number(word)
    return found if found is not None and math.isfinite(found) else None


def normalized(text: str, *, trim: bool = True) -> str:
    """The number with five significant digits; a text that is no number as it is."""
    number = number_of(text, trim=trim)
    return text if number is None else format(number, ".5g")


def _unicode_number(text: str) -> float | None:
    if CHINESE.intersection(text):
        raise UnreadableNumberError
    rest, negative = text.strip(), False
    while rest and (rest[0] in MINUS or rest[0] in PLUS):
        negative ^= rest[0] in MINUS
        rest = rest[1:].lstrip()
    if len(rest) == 1:
        alone = unicodedata.numeric(rest, None)
        if alone is not None:
            return -alone if negative else alone
    power = 1
    written = rest.rstrip(EXPONENT_DIGITS)
    before = written[:-1] if written.endswith(("⁻", "⁺")) else written
    if written != rest and before.strip():
        rest, power = before.rstrip(), int(rest[len(before) :].translate(SUPERSCRIPT))
    base = _with_fraction(rest)
    if base is None or abs(power) > LARGEST_POWER:
        return None
    try:
        raised = (-base if negative else base) ** power
    except (OverflowError, ZeroDivisionError):
        return None
    return float(raised)


def _with_fraction(text: str) -> float | None:
    """The number, in which one sign may be a fraction (2½)."""
    places = [place for place, sign in enumerate(text) if 0.0 < unicodedata.numeric(sign, 0.0) < 1.0]
    if not places:
        return _digits(text)
    head, tail = text[: places[0]].strip(), text[places[0] + 1 :]
    if len(places) > 1 or any(not (sign.isspace() or sign in GROUPING) for sign in tail):
        return None
    whole = _digits(head) if head else 0.0
    return None if whole is None else whole + unicodedata.numeric(text[places[0]])


def _digits(text: str) -> float | None:
    """The number in digits of any script, with separators."""
    mark = _decimal_mark(text)
    out: list[str] = []
    signs = iter(text.strip())
    for sign in signs:
        if sign in "eE" and "e" not in out:
            out.append("e")
        elif sign in DECIMAL or sign == mark:
            out.append(".")
        elif (sign in MINUS or sign in PLUS) and out and out[-1] == "e":
            out.append("+" if sign in PLUS else "-")
        elif (digit := unicodedata.digit(sign, None)) is not None:
            out.append(str(digit))
        elif sign not in GROUPING and sign not in ",." and not sign.isspace():
            return None
    try:
        return float("".join(out))
    except ValueError:
        return None


def _decimal_mark(text: str) -> str:
    """The sign that separates the fraction: of a point and a comma the last; a lone comma before one to three digits."""
    point, comma = text.rfind("."), text.rfind(",")
    if point >= 0 and comma >= 0:
        return "." if point > comma else ","
    if point >= 0:
        return "."
    behind = sum(unicodedata.digit(sign, None) is not None for sign in text[comma + 1 :])
    return "," if comma >= 0 and behind in (1, 2, 3) else ""
