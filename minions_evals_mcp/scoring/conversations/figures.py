"""Figures, codes, dates and addresses that a user states: which of them it was told, and which it says differently. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

LEAST_DIGITS = 3
_LETTER = r"[^\W\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
"""A letter or digit of a code: not of a script that is written without blanks."""
NUMBER = re.compile(
    rf"(?<!{_LETTER})(?<!\d\.)\+?(?:{_LETTER}|-){{0,64}}?\d(?:{_LETTER}|-)*+(?:[ ./-]\d(?:{_LETTER}|-)*+)*+(?:,\d+)?"
)
"""A number or a code, with what belongs to it."""
EMAIL = re.compile(r"[\w.+-]{1,64}+@[\w-]++(?:\.[\w-]++)+")
STREET = re.compile(
    r"\b\d{1,4}[a-z]? (?:[A-Z][\w'-]+ ){1,3}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Square|Close|Court)\b"
    r"|\b[A-Z]\w*(?:straße|strasse|weg|platz|allee|gasse) \d{1,4}\b|\b\d{1,4},? (?:rue|avenue|boulevard|place|chemin) (?:\w+ )*[A-Z]\w+"
    r"|\b(?:[Cc]alle|[Aa]venida|[Pp]laza) (?:\w+ )*[A-Z]\w+,? \d{1,4}\b"
)
_CLOCK = re.compile(r"^\d{1,2}(?:[:.h]\d{2}|[:h]|am|pm|uhr)(?:am|pm|h)?$", re.IGNORECASE)
_YEAR = re.compile(r"^(?:19|20)\d\d$")
_ORDINAL = re.compile(r"^\d{1,3}(?:st|nd|rd|th|e|er|ère|ème|re|de|ste|º|ª|o|a|x)$", re.IGNORECASE)
_CODE = re.compile(r"^(?=(?:.*[A-Z]){2})(?=(?:.*\d){2})[A-Z0-9-]{6,}$")
_MONTHS = (
    "jan gen ene sty oca", "feb fév fev lut şub", "mar mär maa mrt", "apr avr abr kwi nis", "may mai mag maj mei may",
    "jun juin giu cze haz", "jul juil lug lip tem", "aug aoû ago sie ağu", "sep set wrz eyl", "oct okt ott out paź eki",
    "nov lis kas", "dec dez déc dic gru ara",
)  # fmt: skip
_MONTH = {start: number for number, starts in enumerate(_MONTHS, 1) for start in starts.split()}
_YEAR_OF = r"(?:,? (?:de )?((?:19|20)\d\d))?(?!\w)"
_DAY_FIRST = re.compile(rf"(?<!\w)(\d{{1,2}})(?:st|nd|rd|th|\.|er|º)? (?:of |de |di )?([^\W\d_]{{3,10}})\.?{_YEAR_OF}")
_MONTH_FIRST = re.compile(rf"(?<!\w)([^\W\d_]{{3,10}})\.? (\d{{1,2}})(?:st|nd|rd|th)?{_YEAR_OF}")
_DIGIT_DATE = re.compile(r"(?<![\w.])(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?![\w])")
_TIMES = range(2, 13)
_PHONE_DIGITS, _PHONE_TAIL = 9, 7
_NEAR = 2

Day = tuple[int, int, int | None]
"""Day, month and the last two digits of the year, if it is said."""


def places(text: str) -> Iterator[str]:
    """Addresses: of mail and of streets."""
    return (found[0] for pattern in (EMAIL, STREET) for found in pattern.finditer(text))


def figures(text: str) -> Iterator[str]:
    """The numbers and codes of a text."""
    return (found[0].strip(" .,-") for found in NUMBER.finditer(text))


def is_telling(found: str) -> bool:
    """Whether a figure is one that nobody says by the way: no small number, time, year or round number."""
    if is_said_by_the_way(found) or _YEAR.match(found):
        return False
    if _CODE.match(found):
        return True
    return len(digits(found)) >= LEAST_DIGITS and not (found.isdigit() and found.endswith("00") and len(found) < 5)


def is_known(found: str, known: str) -> bool:
    """Whether the user can have that figure from what it knows: as it stands, in another spelling, or by a sum in its head."""
    squeezed, whole = squeeze(found), squeeze(known)
    if squeezed in whole or any(len(digits(part)) >= LEAST_DIGITS and squeeze(part) in whole for part in found.split()):
        return True
    told = digits(found)
    if len(told) >= _PHONE_DIGITS and told[-_PHONE_TAIL:] in digits(known):
        return True
    told_days = days(known)
    if any(is_same_day(one, other) for one in _digit_days(found) for other in told_days):
        return True
    return _is_computed(found, known)


def _is_computed(found: str, known: str) -> bool:
    """Whether a plain amount is the sum, the difference or a multiple of amounts that were said."""
    if not re.fullmatch(r"\d{1,5}(?:[.,]\d{1,2})?", found):
        return False
    said = _amount(found)
    amounts = sorted({_amount(one) for one in figures(known) if re.fullmatch(r"\d{1,5}(?:[.,]\d{1,2})?", one)})[:60]
    if any(said in (one * times, one / times) for one in amounts if one > 1 for times in _TIMES):
        return True
    return any(said in (one + other, abs(one - other)) for one in amounts for other in amounts)


def _amount(text: str) -> float:
    return float(text.replace(",", "."))


def other_than(found: str, value: str) -> bool:
    """Whether a figure is that value said wrongly: of the same length, and different in one or two signs."""
    said, told = squeeze(found), squeeze(value)
    if said == told or len(said) != len(told) or len(told) < _NEAR + 1:
        return False
    apart = sum(one != other for one, other in zip(said, told, strict=True))
    return apart <= min(_NEAR, len(told) // 2) or sorted(said) == sorted(told)


def wrong_number_in(text: str, value: str) -> str | None:
    """The number that stands in the text in place of the one of the value, such as another house number of the same street."""
    words: list[str] = re.findall(r"[^\W\d_]{3,}", value.casefold())
    mine = [one for one in figures(value) if one.isdigit()]
    if not words or len(mine) != 1:
        return None
    name = r"[\s,.]{1,3}".join(map(re.escape, words))
    found = re.search(
        rf"(?<![\w-])(\d{{1,5}})[\s,.]{{1,3}}{name}(?!\w)|(?<!\w){name}[\s,.]{{1,3}}(\d{{1,5}})(?![\w-])",
        text.casefold(),
    )
    said = next(filter(None, found.groups()), None) if found else None
    return said if said is not None and said != mine[0] else None


def is_said_by_the_way(found: str) -> bool:
    """Whether it is a time of day or an ordinal."""
    return bool(_CLOCK.match(found) or _ORDINAL.match(found))


def days(text: str) -> frozenset[Day]:
    """The dates of a text, each as it can be read."""
    found: set[Day] = set()
    said: list[tuple[str, str, str]] = [*_DAY_FIRST.findall(text)]
    said += [(day, month, year) for month, day, year in _MONTH_FIRST.findall(text)]
    for day, month, year in said:
        number = _MONTH.get(month[:4].casefold()) or _MONTH.get(month[:3].casefold())
        if number is not None:
            found.add((int(day), number, int(year[-2:]) if year else None))
    return frozenset(found) | frozenset(_digit_days(text))


def _digit_days(text: str) -> set[Day]:
    found: set[Day] = set()
    for first, second, third in _DIGIT_DATE.findall(text):
        one, two, three = int(first), int(second), int(third)
        year_first = len(first) == len("2026")
        day, year = (three, one % 100) if year_first else (one, three % 100)
        found.add((day, two, year))
        if not year_first:
            found.add((two, one, year))
    return found


def is_same_day(one: Day, other: Day) -> bool:
    """Whether two dates can be the same."""
    return one[:2] == other[:2] and (one[2] is None or other[2] is None or one[2] == other[2])


def digits(text: str) -> str:
    """Its digits."""
    return "".join(filter(str.isdigit, text))


def squeeze(text: str) -> str:
    """Its letters and digits, whatever their case."""
    return "".join(filter(str.isalnum, text.casefold()))
