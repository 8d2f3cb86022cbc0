"""The speaker at a door: a person whom the door knows, or an agent. The door says so, never the caller."""

from __future__ import annotations

from typing import Literal, get_args

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import NotAllowedError

AGENTS = "agent"
"""All agents are one speaker: without a token none can be told from another."""
OPERATOR = "operator"
"""The source of what is saved by a command, a program or a file of whoever runs this machine."""
Role = Literal["viewer", "judge", "editor"]
"""What a person may do: read; also judge what waits for people; also run, change and decide. Each role has those before it."""
ROLES: tuple[Role, ...] = get_args(Role)
EDITOR: Role = "editor"


class Speaker(Value):
    """A person under the name by which the store knows them, or an agent under the name that its client gives."""

    kind: Literal["human", "agent"] = "agent"
    name: str = ""
    is_remote: bool = False
    """Speaks through a server, so is not known to be whoever runs commands here."""
    role: Role = EDITOR
    """What the store's operator lets this person do. Agents have no role: what they may do follows from the start of their server."""

    @property
    def is_person(self) -> bool:
        return self.kind == "human"

    def may(self, needed: Role) -> bool:
        """Whether this speaker's role includes that one."""
        return ROLES.index(self.role) >= ROLES.index(needed)

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


def person(name: str, role: Role = EDITOR) -> Speaker:
    """The person of that name and role; only a door that has made sure of it may say so."""
    return Speaker(kind="human", name=name, role=role)


def require_role(speaker: Speaker, needed: Role) -> None:
    """Raises `NotAllowedError` where a person's role does not include the one that is needed."""
    if not speaker.may(needed):
        raise NotAllowedError(speaker.name, speaker.role, needed)
