"""Texts in passages, and which cases are written of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.frozen_types import frozen_type

LONGEST_PASSAGE = 4_000
KINDS = ("case", "edge", "adversarial")
"""What users ask often, what they ask rarely and may, and what tries to have the agent break its instructions."""
_TURN = ("case", "case", "edge", "adversarial")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_VARIABLE = re.compile(r"\{\{\s*(?:#(?:if|each)\s+)?([A-Za-z_]\w*)")


@frozen_type
class Passage:
    """A part of a document or a prompt, in whole paragraphs where they are short enough."""

    id: str
    source: str
    text: str


def passages(source: str, text: str) -> tuple[Passage, ...]:
    """The text in passages of at most `LONGEST_PASSAGE` characters; the same text has the same ones."""
    packed: list[str] = []
    for part in _parts(text):
        if packed and len(packed[-1]) + len(part) + 2 <= LONGEST_PASSAGE:
            packed[-1] += f"\n\n{part}"
        else:
            packed.append(part)
    return tuple(Passage(f"passage/{digest([source, part])[:12]}", source, part) for part in dict.fromkeys(packed))


def _parts(text: str) -> Iterator[str]:
    """The paragraphs; those that are too long in pieces, cut at a blank where there is one."""
    for paragraph in _PARAGRAPH.split(text):
        left = paragraph.strip()
        while len(left) > LONGEST_PASSAGE:
            cut = max(left.rfind(mark, LONGEST_PASSAGE // 2, LONGEST_PASSAGE) for mark in ("\n", " "))
            cut = LONGEST_PASSAGE if cut < 0 else cut
            yield left[:cut].strip()
            left = left[cut:].strip()
        if left:
            yield left


def planned(count: int, places: Sequence[Passage]) -> list[tuple[Passage, Counter[str]]]:
    """So many cases spread over the passages, half of them ordinary ones; passages of which none is written are left out."""
    wanted: dict[int, Counter[str]] = {}
    for number in range(count):
        wanted.setdefault(number * len(places) // count, Counter())[_TURN[number % len(_TURN)]] += 1
    return [(places[place], kinds) for place, kinds in sorted(wanted.items())]


def variables(template: str) -> tuple[str, ...]:
    """The names that a prompt's template takes, in their order."""
    found = dict.fromkeys(match[1] for match in _VARIABLE.finditer(template))
    return tuple(name for name in found if name not in ("this", "else"))
