"""One user with one goal, of whom conversations are made."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scene:
    """One user with one goal. `steps` are the agent's question and the user's answer, `close` the agent's last words."""

    language: str
    goal: str
    opening: str
    knows: dict[str, str]
    secret: str
    """What the user must not volunteer."""
    asked: str
    """The agent's question that may reveal it."""
    steps: tuple[tuple[str, str], ...]
    done: str
    """The agent says that it is done, with a figure of its own."""
    close: str
    more: tuple[str, ...] = field(default=())
    """Things that this user may say besides, which are sound."""
