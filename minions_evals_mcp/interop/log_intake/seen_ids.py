"""The ids that a log has had so far: millions of them, in at most 24 bytes each."""

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
        key = hash(ident) or 1  # 0 is a free place
        if not self._put(key):
            return False
        self._taken += 1
        if 3 * self._taken > 2 * len(self._places):
            self._grow()
        return True

    def _put(self, key: int) -> bool:
        places, last = self._places, len(self._places) - 1
        at = key & last
        while (held := places[at]) != 0:
            if held == key:
                return False
            at = (at + 1) & last
        places[at] = key
        return True

    def _grow(self) -> None:
        old = self._places
        self._places = array("q", bytes(16 * len(old)))
        for key in old:
            if key:
                self._put(key)
