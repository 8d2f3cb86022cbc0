"""Dates, clock times and weekdays in a text, in one spelling."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MONTH = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
    r"|january|february|april|june|july|august|september|october|november|december)\b\.?"
)
_DAY = r"(?<!\d)(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})(?!\d)"
_SPELLED = (
    late(rf"{_DAY}(?:\sof)?[ -]{_MONTH}(?:,?[ -]{_YEAR})?"),
    late(
        rf"\b{_MONTH}(?:[ -](?P<day>[0-3]?\d)(?!\d)(?:st|nd|rd|th)?(?:,?\s{_YEAR})?|,?\s(?P<alone>[12]\d{{3}})(?!\d))"
    ),
)
_ELSEWHERE = {
    "jänner": 1, "jan": 1, "ene": 1, "gen": 1, "feb": 2, "fév": 2, "fev": 2, "mär": 3, "mar": 3, "apr": 4, "avr": 4, "abr": 4, "mai": 5,
    "may": 5, "mag": 5, "jun": 6, "juin": 6, "giu": 6, "jul": 7, "juil": 7, "lug": 7, "aug": 8, "aoû": 8, "ago": 8, "sep": 9, "set": 9,
    "okt": 10, "oct": 10, "ott": 10, "out": 10, "nov": 11, "dez": 12, "déc": 12, "dic": 12,
}  # fmt: skip
"""How the names of months begin in German, French, Spanish, Italian and Portuguese."""
_SPELLED_ELSEWHERE = late(
    r"(?<!\d)(?P<day>[0-3]?\d)(?:\.|er|º|°)?\s(?:de\s)?"
    r"(?P<month>januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember"
    r"|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre"
    r"|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro)\b"
    rf"(?:\s(?:de\s|del\s)?{_YEAR})?",
    re.IGNORECASE,
)
_ISO = late(r"(?<!\d)(?P<year>[12]\d{3})[-/.](?P<month>[01]?\d)[-/.](?P<day>[0-3]?\d)(?!\d)(?:T(?=\d\d:))?")
_SLASHED = late(r"(?<![\d/.])(?P<first>[0-3]?\d)([/.])(?P<second>[0-3]?\d)\2(?P<year>\d{4}|\d{2})(?![\d/])")
_CLOCK = late(r"(?<![\d:])(?P<hour>[0-2]?\d):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?!\d)(?:\s?(?P<half>[apAP])\.?[mM]\b)?")
_SAID_CLOCK = late(
    r"(?<![\d:.,])(?P<hour>[0-2]?\d)(?:\s?h\s?(?P<french>[0-5]\d)|[.:](?P<german>[0-5]\d)\sUhr|\sUhr(?:\s(?P<minute>[0-5]\d))?)(?!\w)"
)
_HOUR = late(r"(?<![\d:.,])(?P<hour>[01]?\d)\s?(?P<half>[apAP])\.?[mM]\b")
_CLOCKS = (_SAID_CLOCK, _CLOCK, _HOUR)
_HOUR_AT_ALL = late(r"\d(?::\d|\s?[hHaApPU]|[.:]\d\d\sUhr)")
"""What each of them holds."""
_DIGIT = late(r"\d")


@frozen_type
class Day:
    """A day, or a whole month where `day` is None, in an unknown year where `year` is None."""

    year: int | None
    month: int
    day: int | None

    def covers(self, other: Day) -> bool:
        """Returns whether the other says no more than this one, as far as both speak."""
        years = self.year is None or other.year is None or self.year == other.year
        return years and self.month == other.month and other.day in (None, self.day)

    def date(self) -> dt.date | None:
        """The calendar date, where the day is complete and exists."""
        if self.year is None or self.day is None:
            return None
        try:
            return dt.date(self.year, self.month, self.day)
        except ValueError:
            return None


@frozen_type
class Mention:
    """A date or a time as it is written, and what it can mean: `days`, or `minutes` after midnight."""

    shown: str
    days: tuple[Day, ...] = ()
    minutes: tuple[int, ...] = ()


def take_dates(text: str) -> tuple[list[Mention], str]:
    """The dates in the text, and the text with a blank in the place of each."""
    mentions: list[Mention] = []
    if not _DIGIT.search(text):
        return mentions, text

    def keep(days: Iterable[Day], match: re.Match[str]) -> str:
        real = tuple(day for day in days if 1 <= day.month <= 12 and (day.day is None or 1 <= day.day <= 31))
        if not real:
            return match[0]
        mentions.append(Mention(match[0], days=real))
        return " "

    text = _ISO.sub(lambda match: keep([_numbered(match)], match), text)
    text = _SLASHED.sub(lambda match: keep(_either_order(match), match), text)
    text = _SPELLED_ELSEWHERE.sub(lambda match: keep([_spelled(match)], match), text)
    for pattern in _SPELLED:
        text = pattern.sub(lambda match: keep([_spelled(match)], match), text)
    return mentions, text


def take_clocks(text: str) -> tuple[list[Mention], str]:
    """The times of day in the text, and the text with a blank in the place of each."""
    mentions: list[Mention] = []

    def keep(match: re.Match[str]) -> str:
        mentions.append(Mention(match[0], minutes=_minutes(match)))
        return " "

    for pattern in _CLOCKS if _HOUR_AT_ALL.search(text) else ():
        text = pattern.sub(keep, text)
    return mentions, text


def _numbered(match: re.Match[str]) -> Day:
    return Day(int(match["year"]), int(match["month"]), int(match["day"]))


def _either_order(match: re.Match[str]) -> tuple[Day, Day]:
    """Day first and month first: which of the two is meant depends on the country."""
    written = int(match["year"])
    year = written if written > 99 else 2000 + written
    first, second = int(match["first"]), int(match["second"])
    return Day(year, second, first), Day(year, first, second)


def _spelled(match: re.Match[str]) -> Day:
    parts = match.groupdict()
    year, day = parts.get("year") or parts.get("alone"), parts.get("day")
    month = _month(match["month"].lower())
    return Day(int(year) if year else None, month, int(day) if day else None)


def _month(name: str) -> int:
    if name[:3] in MONTHS:
        return MONTHS.index(name[:3]) + 1
    return _ELSEWHERE.get(name) or _ELSEWHERE.get(name[:4]) or _ELSEWHERE[name[:3]]


def _minutes(match: re.Match[str]) -> tuple[int, ...]:
    """Minutes after midnight; both halves of the day where the writer left it open."""
    parts = match.groupdict()
    hour, minute = int(match["hour"]), int(parts.get("minute") or parts.get("french") or parts.get("german") or 0)
    half = parts.get("half")
    if half is None:
        return (hour * 60 + minute, hour * 60 + minute + 720) if hour <= 12 else (hour * 60 + minute,)
    return ((hour % 12 + (12 if half in "pP" else 0)) * 60 + minute,)
