"""The speaker at a door: a person whom the door knows, or an agent. The door says so, never the caller."""

from __future__ import annotations

from typing import Literal

from minions_evals_mcp.domain.values import Value

AGENTS = "agent"
"""All agents are one speaker: without a token none can be told from another."""
OPERATOR = "operator"
"""The source of what is saved by a command, a program or a file of whoever runs this machine."""


class Speaker(Value):
    """A person under the name by which the store knows them, or an agent under the name that its client gives."""

    kind: Literal["human", "agent"] = "agent"
    name: str = ""
    is_remote: bool = False
    """Speaks through a server, so is not known to be whoever runs commands here."""

    @property
    def is_person(self) -> bool:
        return self.kind == "human"

    @property
    def identity(self) -> str:
        """Equal for two words of the same speaker: `person:NAME`, or `agent` for all agents."""
        return f"person:{self.name}" if self.is_person else AGENTS

    @property
    def source(self) -> str:
        """The source of what they save: `person:NAME`, `agent` for whoever speaks through a server, else `operator`."""
        return self.identity if self.is_person or self.is_remote else OPERATOR


AN_AGENT = Speaker.trusted()
REMOTE_AGENT = Speaker.trusted(is_remote=True)


def person(name: str) -> Speaker:
    """The person of that name; only a door that has made sure of it may say so."""
    return Speaker(kind="human", name=name)
