"""A log with what is known before each of its steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.log.kinds import Known, folded, values_in
from minions_evals_mcp.scoring.failures.material import Material, material
from minions_evals_mcp.scoring.failures.texts import cut, flat

MOST_STEPS = 60
"""So many steps of a log are read: a run is recorded while they are."""
MOST_HEARD = 20_000
"""So many characters of what came before a step are searched for numbers, days and times; where there is more, nobody can tell."""
INPUT = -1


@dataclass(frozen=True)
class Log:
    """The steps of a failed run, with its input and its answer."""

    failed: FailedOutput

    @cached_property
    def steps(self) -> tuple[ToolCall, ...]:
        """The steps that are read."""
        return self.failed.tool_calls[:MOST_STEPS]

    @cached_property
    def asked(self) -> tuple[Known, ...]:
        """The values of the input."""
        return tuple(values_in(self.failed.inputs, INPUT))

    @cached_property
    def asked_text(self) -> str:
        """The input, folded."""
        return folded(self.failed.inputs)

    @cached_property
    def asked_material(self) -> Material:
        """The input, for looking up numbers, days and times."""
        return material([self.failed.inputs])

    @cached_property
    def given(self) -> tuple[tuple[Known, ...], ...]:
        """The values of each step's result."""
        return tuple(tuple(values_in(step.result, place)) for place, step in enumerate(self.steps))

    @cached_property
    def given_texts(self) -> tuple[str, ...]:
        """Each result, folded."""
        return tuple(folded(step.result) if step.result is not None else "" for step in self.steps)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many characters each result has."""
        return tuple(len(flat(step.result)) for step in self.steps)

    @cached_property
    def bare_texts(self) -> tuple[str, ...]:
        """The input and each result, folded, without anything but letters and digits."""
        return tuple(re.sub(r"\W", "", text) for text in (self.asked_text, *self.given_texts))

    def known_before(self, place: int) -> list[Known]:
        """The values of the input and of the results before the step."""
        return [*self.asked, *(known for known_here in self.given[:place] for known in known_here)]

    def heard_before(self, place: int) -> Material | None:
        """The input and the results before the step, for looking up numbers, days and times; None where there is too much."""
        if len(self.asked_text) + sum(self.sizes[:place]) > MOST_HEARD:
            return None
        return material([self.failed.inputs, *(step.result for step in self.steps[:place])])

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
