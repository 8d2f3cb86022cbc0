"""The components of a plugin, and the arms that lay it without some of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minions_evals_mcp.engine.lift.arms import Arm
from minions_evals_mcp.frozen_types import frozen_type

ABLATED = "ablated"


@frozen_type
class Component:
    """One component of a plugin: a skill, an agent, a command, a hook or an MCP server."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


Group = tuple[Component, ...]


@frozen_type
class Ablation:
    """An ablation: the plugin's components, and at most so many outputs to tell which of them helps or harms.

    `arms` holds an arm for each group that may be left out: the halves of the components, their halves, down to single ones.
    """

    components: Group
    arms: dict[Group, Arm]
    most_outputs: int


def halves(group: Group) -> tuple[Group, ...]:
    """The two halves of a group; none of a single component."""
    middle = len(group) // 2
    return (group[:middle], group[middle:]) if middle else ()


def groups_in(group: Group) -> Iterator[Group]:
    """The halves of the group, their halves, down to single components."""
    for half in halves(group):
        yield half
        yield from groups_in(half)


def named(group: Sequence[Component]) -> str:
    """The components by kind and name."""
    return ", ".join(map(str, group))
