"""Regular expressions of a template, `r/…/gim`, as JavaScript's RegExp has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from minions_evals_mcp.scoring.nunjucks.budget import spend_characters, spend_steps
from minions_evals_mcp.scoring.nunjucks.values import UNDEFINED, JsArray, JsFunction, Printed, as_added, js_string
from minions_evals_mcp.scoring.patterns import Matcher, PatternMatch, matcher

_PLACE = re.compile(r"\$(?:([$&`'])|(\d\d?)|<([^>]*)>)")
Replacement = str | JsFunction


class JsRegExp(Printed):
    """A regular expression; with `g` it goes on where it last found something, as there."""

    def __init__(self, source: str, flags: str) -> None:
        self.source, self.flags = source, flags
        self.last_index = 0
        inner = "".join(flag for flag in "im" if flag in flags)
        self._matcher: Matcher = matcher(f"(?{inner}){source}" if inner else source)

    @property
    def everywhere(self) -> bool:
        """Returns whether it means every match."""
        return "g" in self.flags

    def copy(self) -> JsRegExp:
        """Returns the same expression, which has found nothing yet."""
        return JsRegExp(self.source, self.flags)

    def first(self, text: str, at: int = 0) -> PatternMatch | None:
        """The first match from there on."""
        spend_characters(len(text) - at)
        return self._matcher(text, at) if at <= len(text) else None

    def each(self, text: str) -> Iterator[PatternMatch]:
        """Every match, from the left."""
        at = 0
        while (match := self.first(text, at)) is not None:
            spend_steps(1)
            yield match
            at = match.end() + (match.end() == match.start())

    def test(self, value: object = UNDEFINED) -> bool:
        """Returns whether the text holds a match."""
        return self.exec(value) is not None

    def exec(self, value: object = UNDEFINED) -> JsArray | None:
        """The match and its groups, or null."""
        match = self.first(as_added(value), self.last_index if self.everywhere else 0)
        if self.everywhere:
            self.last_index = 0 if match is None else match.end()
        return None if match is None else _groups(match)

    def replaced(self, text: str, new: Replacement) -> str:
        """The text with its first match replaced, or every one."""
        parts, at = list[str](), 0
        for match in self.each(text):
            parts += text[at : match.start()], _replacement(match, text, new)
            spend_characters(len(parts[-1]))
            at = match.end()
            if not self.everywhere:
                break
        return "".join((*parts, text[at:]))

    def parts(self, text: str) -> JsArray:
        """The text between the matches, and their groups."""
        made, at = JsArray(), 0
        for match in self.each(text):
            if match.end() == match.start() and match.start() in {at, len(text)}:
                continue  # nothing is cut off there
            made += text[at : match.start()], *_groups(match)[1:]
            at = match.end()
        return JsArray([*made, text[at:]]) if text or self.first(text) is None else JsArray()

    def matches(self, text: str) -> JsArray | None:
        """Every match, or the first with its groups; null where there is none."""
        if not self.everywhere:
            return self.exec(text)
        return JsArray(match.group(0) for match in self.each(text)) or None

    def searched(self, text: str) -> int:
        """The place of the first match, or -1."""
        match = self.first(text)
        return -1 if match is None else match.start()

    def member(self, name: object) -> object:
        """Returns what stands under that name: a method, or a property."""
        known: Mapping[str, object] = {
            "test": JsFunction(self.test), "exec": JsFunction(self.exec), "source": self.source, "flags": self.flags,
            "global": self.everywhere, "lastIndex": self.last_index, "toString": JsFunction(self.__str__),
        }  # fmt: skip
        return known.get(str(name), UNDEFINED)

    def __str__(self) -> str:
        return f"/{self.source}/{self.flags}"


def _groups(match: PatternMatch) -> JsArray:
    return JsArray([match.group(0), *(UNDEFINED if group is None else group for group in match.groups())])


def _replacement(match: PatternMatch, text: str, new: Replacement) -> str:
    if isinstance(new, JsFunction):
        return js_string(new(*_groups(match), match.start(), text))
    return _PLACE.sub(partial(_in_place, match, text), new)


def _in_place(match: PatternMatch, text: str, place: re.Match[str]) -> str:
    """Returns what `$&`, `$1` and their kind stand for; what names no group stays as it is."""
    sign, number, name = place[1], place[2], place[3]
    if sign:
        signs: Mapping[str, Callable[[], str]] = {
            "$": lambda: "$", "&": lambda: match.group(0), "`": lambda: text[: match.start()],
            "'": lambda: text[match.end() :],
        }  # fmt: skip
        return signs[sign]()
    if name is not None:
        named = match.groupdict()
        return place[0] if not named else named.get(name) or ""
    groups = match.groups()
    if 1 <= int(number) <= len(groups):
        return groups[int(number) - 1] or ""
    if len(number) == 2 and 1 <= int(number[0]) <= len(groups):
        return (groups[int(number[0]) - 1] or "") + number[1]
    return place[0]
