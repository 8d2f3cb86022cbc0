"""The speaker at a door: a person whom the door knows, or an agent. The door says so, never the caller."""

from __future__ import annotations

from typing import Literal

from minions_evals_mcp.domain.values import Value

AGENTS = "agent"
"""All agents are one speaker: without a token none can be told from another."""


class Speaker(Value):
    """A person under the name by which the store knows them, or an agent under the name that its client gives."""

    kind: Literal["human", "agent"] = "agent"
    name: str = ""

    @property
    def is_person(self) -> bool:
        return self.kind == "human"

    @property
    def identity(self) -> str:
        """Equal for two words of the same speaker: `person:NAME`, or `agent` for all agents."""
        return f"person:{self.name}" if self.is_person else AGENTS


AN_AGENT = Speaker.trusted()


def person(name: str) -> Speaker:
    """The person of that name; only a door that has made sure of it may say so."""
    return Speaker(kind="human", name=name)
