"""Outputs that came as they came, in either version: which are laid side by side, so that nobody chooses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ComparedOutput:
    """One output of a case: its `place` in the order of all outputs, its score (a fraction) and whether it passed."""

    place: int
    fraction: float
    passed: bool


def matched(a: Sequence[ComparedOutput], b: Sequence[ComparedOutput]) -> list[tuple[ComparedOutput, ComparedOutput]]:
    """Each output of B with the newest of A before it that is still free, else with the first after it.

    What came later changes no match that is made, so that more outputs only ever add to what is compared. As many of
    either version are used: means of unequal numbers of outputs are skewed, which a test by signs does not bear.
    """
    return list(_matches(sorted(a), sorted(b)))


def _matches(
    a: Sequence[ComparedOutput], b: Sequence[ComparedOutput]
) -> Iterator[tuple[ComparedOutput, ComparedOutput]]:
    free: list[ComparedOutput] = []
    waiting: deque[ComparedOutput] = deque()
    for output, is_of_b in sorted([(output, False) for output in a] + [(output, True) for output in b]):
        if is_of_b and free:
            yield free.pop(), output
        elif is_of_b:
            waiting.append(output)
        elif waiting:
            yield output, waiting.popleft()
        else:
            free.append(output)


def looks_at(results: int) -> int:
    """Returns how many attempts it is to choose one's moment while results accumulate: one each time that they double."""
    return results.bit_length()
