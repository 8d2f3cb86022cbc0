"""The parts deleted from one text and inserted to make the other, character by character."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minions_evals_mcp.domain.results import DiffPart

MOST_CHARACTERS = 200_000
"""Longer texts get no difference: nobody reads it, and it would be kept with every run."""
MOST_CELLS = 100_000_000
"""The alignment takes a bit for each pair of characters; beyond 12 MB what differs stands as one piece."""
SHORT = 3
"""A shorter stretch that both have between two changes is chance: it is told as changed, or the difference is confetti."""

Stretch = tuple[str, str, str]
"""What both have, then what is deleted, then what is inserted; any of them may be empty."""


def text_diff(before: str, after: str) -> tuple[DiffPart, ...] | None:
    """The parts in order: `equal` and `delete` make the one text, `equal` and `insert` the other.

    None for texts that are too long to be read so.
    """
    if len(before) + len(after) > MOST_CHARACTERS:
        return None
    if before == after:
        return tuple(_parts(iter([(before, "", "")])))
    first = _alike(before, after)
    most = min(len(before), len(after)) - first
    last = min(most, _alike(before[::-1], after[::-1]))
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    stretches = [(before[:first], "", ""), *_aligned(old, new), (before[len(before) - last :], "", "")]
    return tuple(_parts(_merged(stretches)))


def _alike(first: str, other: str) -> int:
    """Returns how many characters both begin with."""
    differing = (at for at, (a, b) in enumerate(zip(first, other, strict=False)) if a != b)
    return next(differing, min(len(first), len(other)))


def _aligned(old: str, new: str) -> list[Stretch]:
    if len(old) * len(new) > MOST_CELLS:
        return [("", old, new)]
    from rapidfuzz.distance import Indel  # noqa: PLC0415  imported at first use: 15 ms

    stretches: list[Stretch] = []
    for step in Indel.opcodes(old, new):
        before, after = old[step.src_start : step.src_end], new[step.dest_start : step.dest_end]
        stretches.append((before, "", "") if step.tag == "equal" else ("", before, after))
    return stretches


def _merged(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    """The stretches with neighbouring changes in one, and what is equal between two of them only by chance."""
    equal = deleted = inserted = ""
    for at, (same, removed, added) in enumerate(stretches):
        if same and (deleted or inserted) and (len(same) >= SHORT or at == len(stretches) - 1):
            yield equal, deleted, inserted
            equal, deleted, inserted = same, "", ""
        elif deleted or inserted:
            deleted, inserted = deleted + same + removed, inserted + same + added
        else:
            equal, deleted, inserted = equal + same, removed, added
    yield equal, deleted, inserted


def _parts(stretches: Iterator[Stretch]) -> Iterator[DiffPart]:
    for equal, deleted, inserted in stretches:
        if equal:
            yield DiffPart.trusted(op="equal", text=equal)
        if deleted:
            yield DiffPart.trusted(op="delete", text=deleted)
        if inserted:
            yield DiffPart.trusted(op="insert", text=inserted)
