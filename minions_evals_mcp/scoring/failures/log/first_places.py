"""The first place of a text among the input and the results of a log."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

INPUT = -1
"""The place of the input; results have the places of their steps, from 0."""


class FirstPlaces:
    """Texts in order, the input first, searched as one: each text is looked for once, whatever the number of steps."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._joined = "\n".join(texts)
        self._ends = list(accumulate(len(text) + 1 for text in texts))
        self._whole: dict[str, int | None] = {}
        self._part: dict[str, int | None] = {}

    def whole_before(self, text: str, place: int) -> bool:
        """Returns whether the text stands in the input or in a result before the step, no letter or digit next to it."""
        if text not in self._whole:
            self._whole[text] = self._place_of(text, whole=True)
        first = self._whole[text]
        return first is not None and first < place

    def part_before(self, text: str, place: int) -> bool:
        """Returns whether the text stands in the input or in a result before the step, also within a word."""
        if text not in self._part:
            self._part[text] = self._place_of(text, whole=False)
        first = self._part[text]
        return first is not None and first < place

    def places_of(self, text: str) -> Iterator[int]:
        """The numbers of the texts, from 0, in which the text stands, also within a word."""
        at = self._joined.find(text)
        while at >= 0:
            place = bisect_right(self._ends, at)
            yield place
            at = self._joined.find(text, self._ends[place])

    def _place_of(self, text: str, *, whole: bool) -> int | None:
        at = self._joined.find(text)
        while whole and at >= 0 and not self._is_whole(at, at + len(text)):
            at = self._joined.find(text, at + 1)
        return bisect_right(self._ends, at) + INPUT if at >= 0 else None

    def _is_whole(self, start: int, end: int) -> bool:
        before, after = self._joined[start - 1 : start], self._joined[end : end + 1]
        return not (_is_word(before) or _is_word(after))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
