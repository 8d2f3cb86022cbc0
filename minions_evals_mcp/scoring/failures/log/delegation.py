"""Logs of several agents: each step is what one of them answered when it was asked for something."""

from __future__ import annotations

from collections.abc import Iterator

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.reading import Log
from minions_evals_mcp.scoring.failures.mentions import WORD, stem
from minions_evals_mcp.scoring.failures.texts import cut, leaves

SHORT, LONG = 4, 10
"""Up to so many steps the answer was drawn from the last of them; beyond so many the run went round in search of one thing."""
RESTS_ON, ASKED_AGAIN = 0.55, 0.5
AGAIN = 2
"""A request that came again so often was not met the first time."""
ALIKE = 0.4
"""The share of the shorter request's words that are in the other, from which both ask for the same."""
_TELLING = 4


def is_delegated(log: Log) -> bool:
    """Whether every step is an agent's own text, and none is the result of a tool."""
    return bool(log.steps) and all(
        step.agent and step.agent == step.tool and isinstance(step.result, str) for step in log.steps
    )


def delegated_faults(log: Log) -> Iterator[Finding]:
    """The step that the answer rests on, in a short run; the first whose request had to be made again, in a long one."""
    count = len(log.steps)
    if count <= SHORT:
        last = log.steps[-1]
        sentence = f"The answer rests on {log.quoted(count - 1)}, which nothing checked: {cut(str(last.result))}"
        yield Finding("delegated", count - 1, sentence, RESTS_ON)
    elif count > LONG:
        first = next((place for place in range(count) if _asked_again(log, place) >= AGAIN), None)
        if first is not None:
            request = cut(_request(log.steps[first]))
            sentence = f"{log.quoted(first)} did not give what it was asked for, and was asked again later: {request}"
            yield Finding("delegated", first, sentence, ASKED_AGAIN)


def _asked_again(log: Log, place: int) -> int:
    words = _words(log.steps[place])
    later = (_words(step) for step in log.steps[place + 1 :])
    return sum(len(words & other) >= ALIKE * max(1, min(len(words), len(other))) for other in later)


def _words(step: ToolCall) -> frozenset[str]:
    return frozenset(stem(word) for word in WORD.findall(_request(step)) if len(word) >= _TELLING)


def _request(step: ToolCall) -> str:
    texts = [leaf for _, leaf in leaves(step.arguments) if isinstance(leaf, str)]
    return max(texts, key=len, default="")
