"""The ids that a log has had so far: millions of them, in at most 24 bytes each, or 36 where each is counted."""

from __future__ import annotations

from array import array

FIRST = 1024
"""Places at the start; twice as many each time that two thirds are taken."""


class SeenIds:
    """A set of ids, kept by their hash; of two with the same 64 bits the second counts as seen."""

    def __init__(self) -> None:
        self._places = array("q", bytes(8 * FIRST))
        self._taken = 0

    def add(self, ident: str) -> bool:
        """Adds it; whether it is new."""
        key = _key(ident)
        at = _place(self._places, key)
        if self._places[at]:
            return False
        self._places[at] = key
        self._taken += 1
        if 3 * self._taken > 2 * len(self._places):
            self._grow()
        return True

    def _grow(self) -> None:
        old = self._places
        self._places = array("q", bytes(16 * len(old)))
        for key in old:
            if key:
                self._places[_place(self._places, key)] = key


class CountedIds(SeenIds):
    """How often each id came, kept as a set of them is; two with the same 64 bits are counted as one."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = array("I", bytes(4 * FIRST))

    def add(self, ident: str) -> bool:
        """Counts it once more; whether it is new."""
        is_new = super().add(ident)
        self._counts[_place(self._places, _key(ident))] += 1
        return is_new

    def count(self, ident: str) -> int:
        """Returns how often it came."""
        return self._counts[_place(self._places, _key(ident))]

    def _grow(self) -> None:
        places, counts = self._places, self._counts
        super()._grow()
        self._counts = array("I", bytes(4 * len(self._places)))
        for key, number in zip(places, counts, strict=True):
            if key:
                self._counts[_place(self._places, key)] = number


def _key(ident: str) -> int:
    return hash(ident) or 1  # 0 is a free place


def _place(places: array[int], key: int) -> int:
    """The place of that key, or the free one that it takes."""
    last = len(places) - 1
    at = key & last
    while (held := places[at]) != 0 and held != key:
        at = (at + 1) & last
    return at
