"""Two texts word by word: what both have, what was taken out, what came in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from rapidfuzz.distance import Indel

from minions_evals_mcp.domain.results import DiffPart

LONGEST = 4000
"""So many words of either text are told apart; what lies beyond is one change."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LETTERS = re.compile(r"\w")
Op = Literal["equal", "insert", "delete"]


def word_diff(before: str, after: str) -> tuple[DiffPart, ...]:
    """The stretches that turn `before` into `after`: equal and deleted ones make `before`, equal and inserted ones `after`."""
    return tuple(DiffPart(op=op, text=text) for op, text in stretches(before, after))


def stretches(before: str, after: str) -> Iterator[tuple[Op, str]]:
    """The same as bare pairs, for those that make thousands of them."""
    first, other = _WORD.findall(before), _WORD.findall(after)
    head = _shared(first, other)
    tail = _shared(first[head:][::-1], other[head:][::-1])
    middle = _changes(first[head : len(first) - tail], other[head : len(other) - tail])
    return _joined((("equal", "".join(first[:head])), *middle, ("equal", "".join(first[len(first) - tail :]))))


def _shared(first: Sequence[str], other: Sequence[str]) -> int:
    """Returns how many words both begin with."""
    for at, (word, its) in enumerate(zip(first, other, strict=False)):
        if word != its:
            return at
    return min(len(first), len(other))


def _changes(first: list[str], other: list[str]) -> Iterator[tuple[Op, str]]:
    for code in Indel.opcodes(first[:LONGEST], other[:LONGEST]):
        if code.tag == "equal":
            yield "equal", "".join(first[code.src_start : code.src_end])
        else:
            yield "delete", "".join(first[code.src_start : code.src_end])
            yield "insert", "".join(other[code.dest_start : code.dest_end])
    yield "delete", "".join(first[LONGEST:])
    yield "insert", "".join(other[LONGEST:])


def _joined(parts: Sequence[tuple[Op, str]]) -> Iterator[tuple[Op, str]]:
    """The same in whole stretches: a change goes on over a mere space or stop, and what is taken out comes before what came in."""
    unchanged = deleted = inserted = gap = ""
    for op, text in parts:
        if not text:
            continue
        if op != "equal":
            deleted, inserted, gap = deleted + gap, inserted + gap, ""
            deleted, inserted = (deleted + text, inserted) if op == "delete" else (deleted, inserted + text)
        elif not (deleted or inserted):
            unchanged += text
        elif not _LETTERS.search(text):
            gap += text
        else:
            yield from _stretches(unchanged, deleted, inserted)
            unchanged, deleted, inserted, gap = gap + text, "", "", ""
    yield from _stretches(unchanged, deleted, inserted)
    yield from _stretches(gap, "", "")


def _stretches(text: str, deleted: str, inserted: str) -> Iterator[tuple[Op, str]]:
    named: tuple[tuple[Op, str], ...] = (("equal", text), ("delete", deleted), ("insert", inserted))
    return (stretch for stretch in named if stretch[1])
