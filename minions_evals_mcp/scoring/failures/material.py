"""The material that an output may rest on, prepared for looking things up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from itertools import islice, product

from pydantic import JsonValue

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.failures.dates import Day, Mention, take_clocks, take_dates
from minions_evals_mcp.scoring.failures.ledger import Ledger, ledger
from minions_evals_mcp.scoring.failures.mentions import IDENTIFIER, LINK, WORD, bare_link, is_identifier, squeezed, stem
from minions_evals_mcp.scoring.failures.quantities import Quantity, quantities
from minions_evals_mcp.scoring.failures.texts import flat, straight

_TOKENISED = re.compile(r"(?<=\w) ([,.;:%])(?=\s)|(?<=[$€£]) (?=\d)")
"""Blanks that only a tokeniser puts: before a comma, and after the sign of a currency."""
_UNIT = 3
"""A word of so many letters may be a unit or a currency."""
MOST_DAYS = 200
"""So many distinct days of a material are counted from."""


@frozen_type
class TextReading:
    """A text taken apart into what can be looked up; `bare` is the rest, without links, dates, times and codes."""

    bare: str
    links: tuple[str, ...]
    days: tuple[Mention, ...]
    clocks: tuple[Mention, ...]
    identifiers: tuple[str, ...]
    quantities: Iterable[Quantity]


@frozen_type
class ValueMaterial:
    """Everything that some values say; `text` is case-folded, `words` squeezed."""

    text: str
    words: str
    stems: frozenset[str]
    links: frozenset[str]
    days: frozenset[Day]
    clocks: frozenset[int]
    identifiers: frozenset[str]
    numbers: Ledger

    def has_link(self, link: str) -> bool:
        """Returns whether the address stands there, with or without its scheme."""
        return bare_link(link) in self.links or bare_link(link) in self.text

    def has_identifier(self, token: str) -> bool:
        """Returns whether the code stands there, in any case."""
        return token.casefold() in self.identifiers or token.casefold() in self.text

    def has_quote(self, quote: str) -> bool:
        """Returns whether those words stand there in that order."""
        return f" {squeezed(quote)} " in self.words

    def has_word(self, word: str) -> bool:
        """Returns whether some form of the word stands there."""
        return stem(word) in self.stems

    def has_day(self, mention: Mention) -> bool:
        """Returns whether the day is known, or follows from a known one by a known number of days."""
        if any(known.covers(day) for day, known in product(mention.days, self.days)):
            return True
        return any(self._counts_to(day) for day in mention.days)

    def has_time(self, mention: Mention) -> bool:
        """Returns whether that time of day stands there."""
        return not self.clocks.isdisjoint(mention.minutes)

    def _counts_to(self, day: Day) -> bool:
        date = day.date()
        if date is None:
            return False
        known = [date for date in map(Day.date, islice(self.days, MOST_DAYS)) if date]
        spans = self.numbers.scaled.get("time", frozenset())
        return any(float(abs(date - other) // timedelta(minutes=1)) in spans for other in known)


def read(text: str) -> TextReading:
    """The text taken apart; its numbers are found as they are asked for."""
    links = tuple(LINK.findall(text))
    days, rest = take_dates(LINK.sub(" ", text) if links else text)
    clocks, rest = take_clocks(rest)
    identifiers: list[str] = []

    def keep(sentence: str) -> str:
        if not is_identifier(sentence):
            return sentence
        identifiers.append(sentence)
        return " "

    bare = IDENTIFIER.sub(lambda match: keep(match[0]), rest)
    return TextReading(bare, links, tuple(days), tuple(clocks), tuple(identifiers), quantities(bare))


def material(values: Iterable[JsonValue]) -> ValueMaterial:
    """Returns what these values say together."""
    text = _TOKENISED.sub(lambda match: match[1] or "", straight("\n".join(flat(value) for value in values)))
    reading = read(text)
    minutes = frozenset(minute for mention in reading.clocks for minute in mention.minutes)
    return ValueMaterial(
        text=text.casefold(),
        words=f" {squeezed(text)} ",
        stems=frozenset(stem(word) for word in WORD.findall(text.replace("-", " ").replace("_", " "))),
        links=frozenset(map(bare_link, reading.links)),
        days=frozenset(day for mention in reading.days for day in mention.days),
        clocks=minutes,
        identifiers=frozenset(token.casefold() for token in reading.identifiers),
        numbers=ledger(reading.quantities, minutes),
    )


def says_the_same(wanted: str, text: str) -> bool:
    """Returns whether two texts are the same words, day, time or number, each written in its own way."""
    if squeezed(wanted).replace(" ", "") == squeezed(text).replace(" ", ""):
        return True
    first, other = read(wanted), read(text)
    words = {stem(word) for word in _parts(first.bare) if len(word) > _UNIT}
    amounts = _amounts(first)
    if not words <= {stem(word) for word in _parts(text)} or amounts != _amounts(other):
        return False
    if first.days or first.clocks or other.days or other.clocks:
        same_count = (len(first.days), len(first.clocks)) == (len(other.days), len(other.clocks))
        return same_count and _same_moments(first, other)
    return amounts != []


def _parts(text: str) -> list[str]:
    """Its words, those of an identifier apart."""
    return WORD.findall(text.replace("_", " "))


def _same_moments(first: TextReading, other: TextReading) -> bool:
    """Returns whether their days and times of day can mean the same, one by one: 3/5 may be either day."""
    pairs = zip((*first.days, *first.clocks), (*other.days, *other.clocks), strict=True)
    return all({*first.days, *first.minutes} & {*second.days, *second.minutes} for first, second in pairs)


def _amounts(reading: TextReading) -> list[tuple[str, float]]:
    """Returns what its numbers amount to, by kind."""
    return [(number.kind, round(number.values[0] * number.factor, 9)) for number in reading.quantities]
