"""Numbers in a text with what they count, in any spelling: $1.25M, 1,250,000 dollars, 35 percent, fourteen days."""

from __future__ import annotations

import re
from collections.abc import Iterator

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.mentions import ORDINARY, stem

PLAIN, MONEY, PERCENT = "plain", "money", "percent"

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {word: value for value, word in enumerate(_SMALL)} | {
    word: 10 * (place + 2) for place, word in enumerate(_TENS)
}  # fmt: skip
MULTIPLIERS: dict[str, tuple[float, ...]] = {
    "k": (1e3,), "thousand": (1e3,), "m": (1e6, 1), "million": (1e6,), "millions": (1e6,), "mio": (1e6,),
    "b": (1e9, 1), "bn": (1e9,), "billion": (1e9,), "mrd": (1e9,), "hundred": (1e2,),
}  # fmt: skip
"""What a word after a number multiplies it by; two values where the letter may also be a unit."""
UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("$", "€", "£", "¥", "₹", "usd", "eur", "gbp", "chf", "sek", "jpy", "inr"), (MONEY, 1.0)),
    **dict.fromkeys(("dollar", "dollars", "euro", "euros", "pound", "pounds", "francs", "yen"), (MONEY, 1.0)),
    **dict.fromkeys(("%", "percent", "pct"), (PERCENT, 1.0)),
    **dict.fromkeys(("second", "seconds", "sec", "secs"), ("time", 1 / 60)),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), ("time", 1.0)),
    **dict.fromkeys(("hour", "hours", "h", "hrs"), ("time", 60.0)),
    **dict.fromkeys(("day", "days"), ("time", 1440.0)),
    **dict.fromkeys(("week", "weeks"), ("time", 10080.0)),
    **dict.fromkeys(("month", "months"), ("months", 1.0)),
    **dict.fromkeys(("year", "years"), ("months", 12.0)),
    "mg": ("mass", 1e-3), "g": ("mass", 1.0), "kg": ("mass", 1e3),
    "mm": ("length", 1e-3), "cm": ("length", 1e-2), "km": ("length", 1e3),
    **dict.fromkeys(("metre", "metres", "meter", "meters"), ("length", 1.0)),
}  # fmt: skip
"""A unit's kind, and its size in that kind's own unit."""
ABOUT = ("about", "around", "roughly", "approximately", "nearly", "almost", "over", "than", "circa", "some", "~", "ca.")

_NUMBER = late(
    r"(?<!\w)(?<!\d[.,])(?P<digits>\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?(?![\d.,]*\d)"
    r"|\d+(?:[.,'\u00a0\u202f]\d+)*)(?P<power>[eE][+-]?\d{1,2}(?!\w))?"
    rf"|\b(?P<word>{'|'.join(NUMBER_WORDS)})(?:-(?P<ones>{'|'.join(_SMALL[1:10])}))?\b",
    re.ASCII | re.IGNORECASE,
)
_AFTER = late(r"[\s\u00a0-]?(%|[A-Za-z]+|[€$£¥₹])")
_ENUMERATED = late(
    r"^[ \t>*#-]*\(?\d{1,3}[.)](?=\s)|\((\d|[ivx]{1,4})\)|\b(?:step|option|point|item|question|part)\s#?\d{1,2}\b",
    re.IGNORECASE | re.MULTILINE,
)
_SEPARATOR = late(r"[.,' \u00a0\u202f]")
_LONGEST = 40


@frozen_type
class Quantity:
    """A number as it is written, its possible values, and its kind (`factor` converts to that kind's own unit).

    `counted` is the stem of the noun after a bare number.
    """

    shown: str
    values: tuple[float, ...]
    kind: str
    factor: float
    decimals: int
    about: bool
    counted: str = ""

    @property
    def is_small_count(self) -> bool:
        """Returns whether it may be a reader's own counting: a bare whole number up to ten."""
        return self.kind == PLAIN and self.values[0] <= 10 and self.values[0].is_integer()


def quantities(text: str) -> Iterator[Quantity]:
    """The numbers of a text, in order, without those that only number a list."""
    text = _ENUMERATED.sub(" ", text)
    for match in _NUMBER.finditer(text):
        if len(match[0]) <= _LONGEST:
            yield _quantity(text, match)


def _quantity(text: str, match: re.Match[str]) -> Quantity:
    end, times, unit, noun = _what_follows(text, match.end())
    before = text[max(0, match.start() - 24) : match.start()].split()
    last = before[-1].lower() if before else ""
    kind, factor = unit or UNITS.get(last) or UNITS.get(last[-1:] if last[-1:] in "$€£¥₹" else "", (PLAIN, 1.0))
    digits = match["digits"]
    values = _values(digits, match["power"] or "") if digits else (_worded(match),)
    return Quantity(
        shown=text[max(0, match.start() - (kind == MONEY and unit is None)) : end].strip(),
        values=tuple(value * by for value in values for by in times),
        kind=kind,
        factor=factor,
        decimals=_decimals(digits or "") if times == (1,) else 0,
        about=any(word.lower() in ABOUT or word.endswith("~") for word in before[-2:]),
        counted=noun if kind == PLAIN else "",
    )


def _what_follows(text: str, end: int) -> tuple[int, tuple[float, ...], tuple[str, float] | None, str]:
    """Returns where the number with its words ends, what they multiply it by, its unit, else the noun after it."""
    times: tuple[float, ...] = (1,)
    after = _AFTER.match(text, end)
    if after and after[1].lower() in MULTIPLIERS:
        times, end = MULTIPLIERS[after[1].lower()], after.end()
        after = _AFTER.match(text, end)
    if after and after[1].lower() in UNITS:
        return after.end(), times, UNITS[after[1].lower()], ""
    noun = after[1].casefold() if after else ""
    return end, times, None, stem(noun) if len(noun) > 3 and noun not in ORDINARY else ""


def _values(digits: str, power: str) -> tuple[float, ...]:
    """Returns what the digits can mean: separators group thousands in one country and mark decimals in another."""
    if " " in digits:
        # "2 310,00" is one number in France; "12 300 450" may as well be three in a row.
        return (*_values(digits.replace(" ", ""), power), *(float(part) for part in re.findall(r"\d+", digits)))
    parts = _SEPARATOR.split(digits)
    marks = _SEPARATOR.findall(digits)
    if not marks:
        return (float(digits + power),)
    whole = float("".join(parts))
    fraction = float("".join(parts[:-1]) + "." + parts[-1] + power)
    grouped = all(len(part) == 3 for part in parts[1:])
    if len(marks) == 1:
        if not grouped or (marks[0] == "." and len(parts[0]) > 3):
            return (fraction,)
        return (fraction, whole) if marks[0] == "." else (whole, fraction)
    if len(set(marks)) == 1:
        return (whole,) if grouped else tuple(float(part) for part in parts)
    return (fraction,)


def _decimals(digits: str) -> int:
    """Returns how many digits the writer gave after the decimal mark."""
    parts = _SEPARATOR.split(digits)
    return len(parts[-1]) if len(parts) > 1 and (len(parts[-1]) != 3 or parts[0] == "0") else 0


def _worded(match: re.Match[str]) -> float:
    ones = match["ones"]
    return float(NUMBER_WORDS[match["word"].lower()] + (NUMBER_WORDS[ones.lower()] if ones else 0))
