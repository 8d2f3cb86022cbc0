"""How often a finding is the step that people call the cause, by the shape of its log: below one half no step is named.

Counted on public labelled logs by `python -m tests.bench.verdicts.accused_steps`; the halves that were not counted are its check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from minions_evals_mcp.scoring.failures.log.delegation import SHORT, is_delegated
from minions_evals_mcp.scoring.failures.log.reading import Log

NAMED_FROM = 0.5
"""The chance from which a step is named."""
Shape = Literal["talk", "short relay", "long relay", "crew", "request"]

COUNTED: Mapping[Shape, tuple[int, int]] = {
    "talk": (3, 14),
    "short relay": (9, 16),
    "long relay": (4, 21),
    "crew": (1, 4),
    "request": (160, 160),
}
"""Findings that named the labelled step, of all findings, in each shape's logs that were counted.

A talk with a user: AgentRx tau-retail, tasks of even number. A relay among agents: the runs of Who&When and AgentRx that people
wrote down, whose question has an even digest. Agents that call tools: Who&When's generated runs, likewise. One request: the planted
office logs of this project, for which no public labelled logs are known.
"""


def shape_of(log: Log) -> Shape:
    """The shape of the log: who talks with whom bears on what a step shows."""
    if is_delegated(log):
        return "short relay" if len(log.steps) <= SHORT else "long relay"
    if log.failed.is_talk:
        return "talk"
    return "crew" if any(step.agent for step in log.steps) else "request"


def chance(log: Log) -> float:
    """The chance that a finding names the step at which people see the cause: its shape's share, by Jeffreys' prior."""
    right, of = COUNTED[shape_of(log)]
    return (right + 0.5) / (of + 1)
