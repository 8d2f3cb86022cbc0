"""Repetition without progress: the same call again and again, or calls of one tool that give nothing new."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.reading import Log
from minions_evals_mcp.scoring.failures.log.tools import LOOKS
from minions_evals_mcp.scoring.failures.texts import cut

LOOPED, STUCK = 0.85, 0.7
OFTEN = 3
"""So many calls alike are a loop."""
_SAYS_NOTHING = frozenset(("null", "true", '"ok"', '{"ok":true}', '{"success":true}'))


def loops(log: Log) -> Iterator[Finding]:
    """The loops of a log, under their first step."""
    yield from _same_calls(log)
    yield from _same_results(log)


def _same_calls(log: Log) -> Iterator[Finding]:
    """One call three times or more, where the last gave nothing that an earlier one had not given."""
    for (tool, arguments), places in _grouped(log, lambda place: canonical(log.steps[place].arguments)).items():
        *earlier, last = [canonical(log.steps[place].result) for place in places]
        if len(places) >= OFTEN and last in earlier:
            often = f"{len(places)} times with the same arguments, first in step {places[0] + 1} (again in {_again(places)})"
            yield Finding("loop", places[0], f"`{tool}` was called {often}: {cut(arguments)}", LOOPED)


def _same_results(log: Log) -> Iterator[Finding]:
    """A look-up that gives the same whatever it is asked."""
    for (tool, result), places in _grouped(log, lambda place: _outcome(log, place)).items():
        arguments_used = {canonical(log.steps[place].arguments) for place in places}
        if len(places) >= OFTEN and len(arguments_used) > 1 and result not in _SAYS_NOTHING and LOOKS.match(tool):
            sentence = (
                f"`{tool}` gave the same in step {places[0] + 1} and again in {_again(places)}, whatever it was asked"
            )
            yield Finding("loop", places[0], f"{sentence}: {cut(result)}", STUCK)


def _grouped(log: Log, key: Callable[[int], str]) -> dict[tuple[str, str], list[int]]:
    groups: dict[tuple[str, str], list[int]] = {}
    for place, step in enumerate(log.steps):
        groups.setdefault((step.tool, key(place)), []).append(place)
    return groups


def _outcome(log: Log, place: int) -> str:
    return log.steps[place].error or canonical(log.steps[place].result)


def _again(places: list[int]) -> str:
    return ", ".join(str(place + 1) for place in places[1:6])
