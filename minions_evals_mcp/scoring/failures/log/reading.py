"""A log with what is known before each of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.log.kinds import Known, folded, values_in
from minions_evals_mcp.scoring.failures.material import Material, material
from minions_evals_mcp.scoring.failures.texts import cut

MOST_STEPS = 400
"""So many steps of a log are read; more is no log that a rule can follow."""
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

    def known_before(self, place: int) -> list[Known]:
        """The values of the input and of the results before the step."""
        return [*self.asked, *(known for known_here in self.given[:place] for known in known_here)]

    def heard_before(self, place: int) -> list[JsonValue]:
        """The input and the results before the step."""
        return [self.failed.inputs, *(step.result for step in self.steps[:place])]

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
