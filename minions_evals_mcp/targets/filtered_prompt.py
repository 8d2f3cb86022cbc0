"""Prompt templates with filters of the user's: functions of JavaScript modules, run by node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.outcomes import TargetErrored
from minions_evals_mcp.scoring.nunjucks.filters import plain
from minions_evals_mcp.scoring.nunjucks.templates import prompt_text
from minions_evals_mcp.scoring.nunjucks.values import UNDEFINED, Undefined, as_js
from minions_evals_mcp.targets.exchange import TargetQuestion
from minions_evals_mcp.targets.module_file import module_answer
from minions_evals_mcp.targets.prompted import WrittenPrompt

MOST_CALLS = 1_000
Answers = dict[tuple[str, str], JsonValue]
"""What filters gave, by their name and their arguments."""


class _WantedError(Exception):
    """A rendering came to a filter whose answer for those arguments is not known yet."""

    def __init__(self, name: str, arguments: tuple[object, ...]) -> None:
        super().__init__(name)
        self.name, self.arguments = name, [plain(argument) for argument in arguments]
        self.absent: list[JsonValue] = [place for place, value in enumerate(arguments) if isinstance(value, Undefined)]
        self.key = (name, canonical([self.arguments, self.absent]))


@dataclass(frozen=True, slots=True)
class _Given:
    """The return of a filter: a list of it, empty where it is undefined."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class FilteredPrompt:
    """Renders a template whose `filters` are files by name: again, with each answer that it lacked."""

    template: str
    filters: Mapping[str, str]
    config: Json

    async def write(self, inputs: Json, question: TargetQuestion) -> WrittenPrompt | TargetErrored:
        """The rendered prompt; what a filter throws is why there is none."""
        answers: Answers = {}
        own = {name: partial(_answer, answers, name) for name in self.filters}
        while len(answers) < MOST_CALLS:
            try:
                return WrittenPrompt(prompt_text(self.template, inputs, own), self.config, rendered=True)
            except _WantedError as error:
                wanted = error
            answer = await self._filtered(wanted, question)
            if isinstance(answer, TargetErrored):
                return answer
            answers[wanted.key] = answer.value
        return TargetErrored(f"the prompt calls its own filters more than {MOST_CALLS:,} times")

    async def _filtered(self, wanted: _WantedError, question: TargetQuestion) -> _Given | TargetErrored:
        """Returns what the filter gives for the arguments, or why it gives nothing."""
        path = Path(self.filters[wanted.name])
        request: Json = {"file": str(path), "name": None, "arguments": wanted.arguments, "absent": wanted.absent}
        answer = await module_answer(request, question)
        match answer:
            case None:
                return TargetErrored(f"the filter {wanted.name} did not end within {question.limit_s:g} s")
            case TargetErrored(reason=reason):
                return TargetErrored(f"the filter {wanted.name} ({path.name}): {reason}")
            case (value, _):
                return _Given(value)


def _answer(answers: Answers, name: str, *arguments: object) -> object:
    """Returns what the filter gave for those arguments; raises `_WantedError` where it was not asked yet."""
    wanted = _WantedError(name, arguments)
    if wanted.key not in answers:
        raise wanted
    match answers[wanted.key]:
        case [value]:
            return as_js(value)
        case _:
            return UNDEFINED
