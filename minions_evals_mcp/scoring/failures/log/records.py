"""The records in the results of a log: which values belong to one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.failures.log.kinds import folded

MOST_RECORDS = 60
"""So many records can be told apart."""
_LISTED = re.compile(r"(?<![\w.,-])(?=[\w-]*\d)[\w-]{2,40}(?![\w-])")


@frozen_type
class Entity:
    """One record of a result: where it stands, and its scalars by key."""

    place: int
    fields: Mapping[str, JsonValue]

    def holds(self, text: str) -> bool:
        """Returns whether one of its values is that text."""
        return any(folded(value) == text for value in self.fields.values() if value is not None)


def first_entities(steps: Sequence[ToolCall]) -> tuple[Entity, ...]:
    """The first records of the results: of the last step all, so that they are too many where there are more."""
    entities: list[Entity] = []
    for place, step in enumerate(steps):
        entities += [Entity(place, fields) for fields in _records(step.result)]
        if isinstance(step.result, str):
            entities += [Entity(place, fields) for fields in _listed(step.result)]
        if len(entities) > MOST_RECORDS:
            break
    return tuple(entities)


def _records(value: JsonValue) -> Iterator[Mapping[str, JsonValue]]:
    """The dictionaries in a structure, each with its own scalars and those of what only it holds."""
    if isinstance(value, list):
        for inner in value:
            yield from _records(inner)
    elif isinstance(value, dict):
        scalars = {key: leaf for key, leaf in value.items() if not isinstance(leaf, dict | list)}
        nested = [leaf for leaf in value.values() if isinstance(leaf, dict | list)]
        for inner in nested:
            yield from _records(inner)
        if scalars:
            yield scalars


def _listed(text: str) -> Iterator[Mapping[str, JsonValue]]:
    """The things that a text lists, each with its code or number: two at least."""
    parts = [part for part in re.split(r"[,;|\n]", text[:4_000]) if part.strip()]
    codes_by_part = [(part, codes[0]) for part in parts if len(codes := _LISTED.findall(part)) == 1]
    if len(codes_by_part) > 1:
        yield from ({"text": part.replace(code, " "), "id": code} for part, code in codes_by_part)
