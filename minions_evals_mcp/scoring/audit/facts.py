"""The facts in a text that can be changed into other ones: numbers, dates and names, with where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from minions_evals_mcp.scoring.audit.lexicon import (
    AMBIGUOUS,
    DAYS,
    FUNCTION_WORDS,
    LABELS,
    MONTHS,
    NUMBER_WORDS,
    OPENERS,
    OTHER_FULL_NAMES,
    OTHER_NAMES,
    OTHER_PLACES,
    PLACES,
)
from minions_evals_mcp.scoring.audit.words import holds

FactKind = Literal["number", "date", "name"]
MOST_READ = 6_000
"""So many characters of a reference are read for facts."""


class Fact(NamedTuple):
    """A stretch of a text, what it is, and another fact of its kind that could stand there."""

    kind: FactKind
    start: int
    end: int
    other: str
    sure: bool = True
    """Whether the text is wrong with the other fact in it; else a person should look."""


_MONTH_NAMES = {name for months in MONTHS for name in months}
_DAY_NAMES = {name for days in DAYS for name in days}
_MONTH = "|".join(sorted(_MONTH_NAMES, key=len, reverse=True))
_ISO = re.compile(r"(?<!\d)(\d{4})[-/](\d{2})[-/](\d{2})(?!\d)")
_NUMERIC_DATE = re.compile(r"(?<!\d)(\d{1,2})([./])(\d{1,2})\2(\d{2,4})(?!\d)")
_CLOCK = re.compile(r"(?<![\d:.,])(\d{1,2})(:\d{2})(?![\d:])")
_MONTH_DAY = re.compile(
    rf"(?<!\w)(?P<day>\d{{1,2}})(?P<ordinal>st|nd|rd|th|er|º|\.)?(?P<between> (?:de |of )?)(?P<month>{_MONTH})(?!\w)"
    rf"|(?<!\w)(?P<month2>{_MONTH})(?P<between2>\.? )(?P<day2>\d{{1,2}})(?!\d)",
    re.IGNORECASE,
)
_MONTH_YEAR = re.compile(rf"(?<!\w)({_MONTH})(?: de| of)? (?:1[5-9]|20)\d\d(?!\d)", re.IGNORECASE)
_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]+(?:-[^\W\d_]+)*(?![\w'’])", re.UNICODE)
_YEAR = re.compile(r"(?<![\w.,:/-])(?:1[5-9]|20)\d\d(?![\w%€$]|[.,:]\d|[-/]\d)")
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_LIST_MARK = re.compile(r"^[^\S\n]*+\d+[.)]\s", re.MULTILINE)
_SENTENCE_START = re.compile(r"(?:\A|[.!?:;\n]\s{0,3}|[\"“«(]\s{0,3}|[-*•]\s{1,3}|\d[.)]\s{1,3})\Z")
_NAME = re.compile(
    r"[A-ZÀ-ÖØ-Þ][\w’'-]*(?:[ ](?:(?:van|von|de|da|di|del|der|den|la|le|bin|al|of)[ ])?[A-ZÀ-ÖØ-Þ][\w’'-]*)*"
)
_ACRONYM = re.compile(r"[A-Z0-9][A-Z0-9.&/-]*\Z")
_ARTICLES = re.compile(
    r"\b(?:der|die|das|den|dem|des|ein|eine|einen|einem|einer|eines|ihr|ihre|ihren|ihrem|ihrer|ihres|sein|seine|unser|unsere"
    r"|zum|zur|im|am|vom|beim|kein|keine|und|oder|mit|für|pro|als|zu|nach|bei|von|\w+en|\w+em|\w+er|\w+es|\w+e)\s\Z",
    re.IGNORECASE,
)
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|für|mit|wird|sind|auf|den|dem|zum|zur|im|am|bis|von)\b")


def facts(text: str, *, taken: str = "") -> list[Fact]:
    """The facts of a text in the order in which they stand; the others occur neither in it nor in `taken`."""
    text = text[:MOST_READ]
    about = f"{text}\n{taken}"
    facts_seen: list[Fact] = []
    for fact in (*_dates(text), *_numbers(text, about), *_names(text, about)):
        if not any(fact.start < other.end and other.start < fact.end and other.kind != fact.kind
                   and not _is_both(text, fact, other) for other in facts_seen):  # fmt: skip
            facts_seen.append(fact)
    return sorted(facts_seen, key=lambda fact: (fact.start, fact.kind))


def _is_both(text: str, fact: Fact, other: Fact) -> bool:
    """A year or a time of day on its own is a number as well as a date."""
    shown = text[other.start : other.end]
    return {fact.kind, other.kind} == {"number", "date"} and bool(_YEAR.fullmatch(shown) or _CLOCK.fullmatch(shown))


def _dates(text: str) -> Iterator[Fact]:
    covered: list[tuple[int, int]] = []

    def free(start: int, end: int) -> bool:
        return not any(start < stop and begin < end for begin, stop in covered)

    for span, other in _written_dates(text):
        if free(*span):
            covered.append(span)
            yield Fact("date", *span, other)
    for word in _WORD.finditer(text):
        other = _other_day_or_month(word)
        if other and free(*word.span()):
            covered.append(word.span())
            yield Fact("date", *word.span(), other)
    for year in _YEAR.finditer(text):
        if free(*year.span()):
            yield Fact("date", *year.span(), str(int(year[0]) - 13))


def _written_dates(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    for match in _ISO.finditer(text):
        yield match.span(), f"{match[0][:5]}{_other(int(match[2]), 12):02}{match[0][7:]}"
    for match in _NUMERIC_DATE.finditer(text):
        day, mark, month, year = match.groups()
        yield (
            match.span(),
            f"{_other(int(day), 12):0{len(day)}}{mark}{_other(int(month), 12):0{len(month)}}{mark}{year}",
        )
    for match in _MONTH_DAY.finditer(text):
        name = "month" if match["month"] else "month2"
        yield match.span(name), _other_of(match[name], MONTHS, 3)
    for match in _MONTH_YEAR.finditer(text):
        yield match.span(1), _other_of(match[1], MONTHS, 3)
    for match in _CLOCK.finditer(text):
        if int(match[1]) < 25:
            yield match.span(), f"{_other(int(match[1]), 11):0{len(match[1])}}{match[2]}"


def _other(number: int, most: int) -> int:
    """Another number from 1 to `most`, far from this one."""
    return (number + 4) % most + 1


def _other_day_or_month(word: re.Match[str]) -> str:
    name = word[0].casefold()
    if name in _DAY_NAMES and (word[0][0].isupper() or name not in {"mars", "martes"}):
        return _other_of(word[0], DAYS, 2)
    if name in _MONTH_NAMES and len(name) > 3 and name not in AMBIGUOUS and word[0][0].isupper():
        return _other_of(word[0], MONTHS, 3)
    return ""


def _other_of(word: str, tables: Sequence[Sequence[str]], step: int) -> str:
    """Another word of the same table, written as this one is."""
    name = word.casefold()
    table = next(table for table in tables if name in table)
    other = table[(table.index(name) + step) % len(table)]
    return other.capitalize() if word[0].isupper() else other


def _numbers(text: str, about: str) -> Iterator[Fact]:
    marks = {position for mark in _LIST_MARK.finditer(text) for position in range(*mark.span())}
    clocks = [clock.span() for clock in _CLOCK.finditer(text)]
    for start, end in clocks:
        yield Fact("number", start, end, _other_number(text[start:end], about))
    for match in _NUMBER.finditer(text):
        if match.start() not in marks and not any(start <= match.start() < end for start, end in clocks):
            yield Fact("number", *match.span(), _other_number(match[0], about))
    for word in _WORD.finditer(text):
        name = word[0].casefold()
        table = _NUMBER_TABLE.get(name)
        if table is not None and name not in AMBIGUOUS:
            yield Fact("number", *word.span(), _other_of(word[0], [table], 4))


def _other_number(shown: str, about: str) -> str:
    """A number as long as this one whose leading digit differs, so that no tolerance covers it."""
    place = next((number for number, digit in enumerate(shown) if digit in "123456789"), None)
    if place is None:
        return f"7{shown[1:]}" if len(shown) == 1 else f"{shown}7"
    for step in (4, 3, 5, 2, 6, 1, 7):
        digit = (int(shown[place]) + step - 1) % 9 + 1
        other = f"{shown[:place]}{digit}{shown[place + 1 :]}"
        if not _stands_in(about, other):
            return other
    return f"{shown[:place]}{int(shown[place]) % 9 + 1}{shown[place + 1 :]}"


def _stands_in(text: str, number: str) -> bool:
    """Returns whether the text has that number, not as a part of a longer one."""
    at = text.find(number)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(number) : at + len(number) + 1]
        if not (before.isdecimal() or before in {".", ","} or after.isdecimal()):
            return True
        at = text.find(number, at + 1)
    return False


_NUMBER_TABLE = {name: table for table in reversed(NUMBER_WORDS) for name in table}


def _names(text: str, about: str) -> Iterator[Fact]:
    german = len(_GERMAN.findall(text)) >= 2
    for match in _NAME.finditer(text):
        start, end = _trimmed(match, text)
        if start >= end:
            continue
        name = text[start:end]
        begins = bool(_SENTENCE_START.search(text[max(0, start - 4) : start]))
        sure = _is_name(name, text, start, begins=begins, german=german)
        if sure is not None:
            yield Fact("name", start, end, _other_name(name, about), sure)


def _trimmed(match: re.Match[str], text: str) -> tuple[int, int]:
    """The name without words that only begin a sentence, and without a possessive ending."""
    start, end = match.span()
    while True:
        first = re.match(r"[^\s]+", text[start:end])
        if first is None or first[0].casefold().strip("'’") not in FUNCTION_WORDS | OPENERS:
            break
        rest = text[start + first.end() : end]
        start += first.end() + len(rest) - len(rest.lstrip())
    name = text[start:end]
    for ending in ("'s", "’s", "'", "’", "-"):
        name = name.removesuffix(ending)
    return start, start + len(name)


def _is_name(name: str, text: str, start: int, *, begins: bool, german: bool) -> bool | None:
    """Returns whether the capitalised words are surely a name; None where they hardly are."""
    parts = name.split()
    first = parts[0].casefold()
    if len(name) < 3 or first in _MONTH_NAMES | _DAY_NAMES or any(character.isdigit() for character in name):
        return None
    if _ACRONYM.match(name):
        return None
    if any(part.casefold() in PLACES for part in parts):
        return True
    if len(parts) > 1 and not german:
        return True
    if len(text.split()) <= 3 and len(parts) == len(text.split()):
        return True if not begins or len(parts) > 1 else not _is_common(name)
    if german:
        return True if len(parts) > 1 and not _ARTICLES.search(text[:start]) else None
    return True if not begins else None if _is_common(name) else False


_COMMON = re.compile(
    r".*(?:tion|ment|ness|ity|ive|able|ible|ed|ing|ly|ous|al|ic|ful|less|ent|ant|ure|ary|ery|ory|ung|keit|heit|lich|isch)\Z",
    re.IGNORECASE,
)


def _is_common(word: str) -> bool:
    """Returns whether a single word that is capitalised because it comes first reads like an ordinary one."""
    return bool(_COMMON.match(word)) or word.casefold() in LABELS


def _other_name(name: str, about: str) -> str:
    choices = OTHER_FULL_NAMES if len(name.split()) > 1 else OTHER_NAMES
    if name.rsplit(maxsplit=1)[-1].casefold() in PLACES:
        choices = OTHER_PLACES
    return next((choice for choice in choices if not holds(about, choice)), choices[0])
