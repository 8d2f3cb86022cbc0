"""Traces that ask the same in other words, and failures of one kind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from minions_evals_mcp.scoring.discovery.readings import TraceReading
from minions_evals_mcp.scoring.likeness.similarity import disagreements, dot, unit

Vector = Sequence[float]
SHARED_FACT_FROM = 0.5
"""The cosine from which two requests about the same thing (an order, an invoice) ask the same."""
ALIKE_FROM = 0.8
"""The cosine from which two requests ask the same that name nothing."""
SAME_KIND_FROM = 0.75
"""The cosine from which two names of what went wrong mean the same."""
_IDENTIFIER = re.compile(r"(?<![\w.,])(?=[\w-]{0,64}?\d)[\w-]{3,}+")


def by_kind(readings: Iterable[TraceReading]) -> dict[tuple[str, str], list[TraceReading]]:
    """The readings of one code about the same thing, the most frequent first."""
    kinds: dict[tuple[str, str], list[TraceReading]] = defaultdict(list)
    for reading in readings:
        kinds[reading.code, reading.about].append(reading)
    return dict(sorted(kinds.items(), key=lambda kind: (-len(kind[1]), kind[0])))


def same_names(names: Mapping[str, int], vectors: Mapping[str, Vector]) -> dict[str, str]:
    """Of each name that readers gave a failure the most frequent one that means the same."""
    leaders: list[str] = []
    meant: dict[str, str] = {}
    units = {name: unit(vector) for name, vector in vectors.items()}
    for name in sorted(names, key=lambda name: (-names[name], name)):
        nearest = max(leaders, key=lambda leader: dot(units[name], units[leader]), default=None)
        if nearest is None or dot(units[name], units[nearest]) < SAME_KIND_FROM:
            leaders.append(name)
            nearest = name
        meant[name] = nearest
    return meant


def same_requests(
    asked: Mapping[str, str], vectors: Mapping[str, Vector], *, shared: float = SHARED_FACT_FROM
) -> list[list[str]]:
    """The traces by what they ask: those together that ask the same, in whatever words, the first trace of each first.

    Requests about different things never go together: where one names an order, the other has to name the same.
    `shared`: the cosine from which those ask the same that do.
    """
    units = {ident: unit(vector) for ident, vector in vectors.items()}
    facts = {ident: frozenset(_IDENTIFIER.findall(text.casefold())) for ident, text in asked.items()}
    blocks: dict[frozenset[str], list[str]] = defaultdict(list)
    for ident in asked:
        blocks[facts[ident]].append(ident)
    leader = {ident: ident for ident in asked}

    def root(ident: str) -> str:
        while leader[ident] != ident:
            ident = leader[ident]
        return ident

    for named, idents in blocks.items():
        least = shared if named else ALIKE_FROM
        for first, other in combinations(idents, 2):
            if root(first) != root(other) and _asks_the_same(asked, units, first, other, least):
                leader[root(other)] = root(first)
    groups: dict[str, list[str]] = defaultdict(list)
    for ident in asked:
        groups[root(ident)].append(ident)
    return list(groups.values())


def _asks_the_same(asked: Mapping[str, str], units: Mapping[str, Vector], first: str, other: str, least: float) -> bool:
    if asked[first] == asked[other]:
        return True
    return dot(units[first], units[other]) >= least and not disagreements(asked[first], asked[other])
