"""A log with what is known before each of its steps."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.log.first_places import INPUT, FirstPlaces
from minions_evals_mcp.scoring.failures.log.kinds import Known, folded, values_in
from minions_evals_mcp.scoring.failures.log.records import MOST_RECORDS, Entity, first_entities
from minions_evals_mcp.scoring.failures.log.units import converted
from minions_evals_mcp.scoring.failures.material import ValueMaterial, material
from minions_evals_mcp.scoring.failures.texts import cut, flat

MOST_STEPS = 500
"""So many steps of a log are read: a run is recorded while they are."""
MOST_ALIKE = 200
"""So many values of one make are held against an argument."""
MOST_HEARD = 20_000
"""So many characters of what came before a step are searched for numbers, days and times; where there is more, nobody can tell."""


@frozen_type
class Log:
    """The steps of a failed run, with its input and its answer."""

    failed: FailedOutput

    @cached_property
    def steps(self) -> tuple[ToolCall, ...]:
        """The steps that are read."""
        return self.failed.tool_calls[:MOST_STEPS]

    @cached_property
    def input_values(self) -> tuple[Known, ...]:
        """The values of the input."""
        return tuple(values_in(self.failed.inputs, INPUT))

    @cached_property
    def asked_text(self) -> str:
        """The input, folded."""
        return folded(self.failed.inputs)

    @cached_property
    def result_values(self) -> tuple[tuple[Known, ...], ...]:
        """The values of each step's result."""
        return tuple(tuple(values_in(step.result, place)) for place, step in enumerate(self.steps))

    @cached_property
    def given_texts(self) -> tuple[str, ...]:
        """Each result, folded."""
        return tuple(folded(step.result) if step.result is not None else "" for step in self.steps)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Returns how many characters each result has."""
        return tuple(len(flat(step.result)) for step in self.steps)

    @cached_property
    def bare_texts(self) -> tuple[str, ...]:
        """The input and each result, folded, without anything but letters and digits."""
        return tuple(re.sub(r"\W", "", text) for text in (self.asked_text, *self.given_texts))

    @cached_property
    def first_places(self) -> FirstPlaces:
        """Returns where a text first stands: in the input, or in which result."""
        return FirstPlaces((self.asked_text, *self.given_texts))

    @cached_property
    def bare_said(self) -> FirstPlaces:
        """The same of texts without anything but letters and digits."""
        return FirstPlaces(self.bare_texts)

    @cached_property
    def by_make(self) -> dict[tuple[str, str], list[Known]]:
        """The values of the input and of the results by kind and make, in order."""
        makes: dict[tuple[str, str], list[Known]] = {}
        for known in chain(self.input_values, chain.from_iterable(self.result_values)):
            makes.setdefault((known.kind, known.shape), []).append(known)
        return makes

    def known_before(self, place: int, kind: str, make: str) -> list[Known]:
        """The values of that make in the input and in the results before the step; of very many the first and the last."""
        known = self.by_make.get((kind, make), [])
        known = known[: bisect_left(known, place, key=lambda fact: fact.place)]
        return known if len(known) <= MOST_ALIKE else [*known[: MOST_ALIKE // 2], *known[-MOST_ALIKE // 2 :]]

    @cached_property
    def _entities(self) -> tuple[Entity, ...]:
        return first_entities(self.steps)

    def entities_before(self, place: int) -> Sequence[Entity]:
        """The records in the results before the step; none where they are too many to tell apart."""
        before = bisect_left(self._entities, place, key=lambda entity: entity.place)
        return self._entities[:before] if before <= MOST_RECORDS else ()

    @cached_property
    def used_text(self) -> str:
        """The arguments of all steps, folded."""
        return "\n".join(folded(step.arguments) for step in self.steps)

    @cached_property
    def used_material(self) -> ValueMaterial:
        """The arguments of all steps, for looking up days."""
        return material([step.arguments for step in self.steps])

    def heard_before(self, place: int) -> ValueMaterial | None:
        """The input and the results before the step, for looking up numbers, days and times; None where there is too much."""
        if len(self.asked_text) + sum(self.sizes[:place]) > MOST_HEARD:
            return None
        return material([self.failed.inputs, *(step.result for step in self.steps[:place])])

    def converted_before(self, place: int) -> frozenset[float]:
        """The numbers of the input and of the results before the step in other units."""
        return self._asked_converted.union(*self._given_converted[:place])

    @cached_property
    def _asked_converted(self) -> frozenset[float]:
        return converted(self.asked_text)

    @cached_property
    def _given_converted(self) -> tuple[frozenset[float], ...]:
        return tuple(map(converted, self.given_texts))

    @cached_property
    def answer(self) -> str:
        """The answer, folded."""
        return folded(self.failed.text)

    def quoted(self, place: int) -> str:
        """The step as it is quoted: its number, from 1, and its tool."""
        return f"step {place + 1} `{cut(self.steps[place].tool, 60)}`"


def unread_steps(calls: Sequence[ToolCall]) -> list[int]:
    """The steps (from 1) of which nobody recorded a result."""
    return [place for place, call in enumerate(calls, 1) if call.result is None and call.error is None]
