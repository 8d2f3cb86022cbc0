"""The state that all parts of the running agent share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from agent.binding import Doing
from agent.message_work import InstructionBounds
from agent.wakeups import Pulse
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.ports import Neighbour

log = structlog.get_logger("agent")

Route = Callable[[str], Neighbour | None]
"""Who takes what is queued for that addressee; nobody where it is pulled."""


def pulled(addressee: str) -> None:
    """Nothing is delivered: the outbox is read by whoever wants it."""
    del addressee


FACTOR = 4
"""By how much each wait after a failure is longer than the one before."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The number of messages that run side by side, how long the first wait after a failure is, and how often one is tried."""

    workers: int = 8
    retry_s: float = 2.0
    attempts: int = 5
    grace_s: float = 10.0

    def wait(self, failed: int) -> timedelta:
        """Returns how long a message waits that had failed so often before."""
        return timedelta(seconds=self.retry_s * FACTOR**failed)

    @property
    def longest_wait(self) -> timedelta:
        """No message is put off for longer."""
        return self.wait(self.attempts)


@dataclass(slots=True, eq=False)
class Agent:
    """A running agent. `in_flight`: messages by seq; `yielded`: those of them that only wait for steps of their own.

    `sources`: how many may still bring messages; `down`: who fails just now.
    """

    engine: Engine
    doings: Mapping[str, tuple[Doing, ...]]
    holder: str
    rhythm: Rhythm = field(default_factory=Rhythm)
    route: Route = pulled
    target: str | None = None
    pulse: Pulse = field(default_factory=Pulse)
    stopping: bool = False
    in_flight: set[int] = field(default_factory=set[int])
    yielded: set[int] = field(default_factory=set[int])
    bounds: InstructionBounds = field(default_factory=InstructionBounds)
    sources: int = 0
    down: set[str] = field(default_factory=set[str])
    looked_at_minute: int = -1

    def stop(self) -> None:
        """Takes no further message; what is under way comes to its end."""
        self.stopping = True
        self.pulse.beat()
