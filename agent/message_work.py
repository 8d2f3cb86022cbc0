"""A message that is carried out, as the actions see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import BaseModel

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.outbox import EVAL_AGENT, OF_MESSAGE
from minions_evals_mcp.messages import payloads
from minions_evals_mcp.messages.derived import payload_of
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.submit_judgments import spoken_by
from minions_evals_mcp.store.agent.inbox import Arriving, Message

P = TypeVar("P", bound=Value)
R = TypeVar("R", bound=BaseModel)
PERSON = "person:"


@dataclass(frozen=True, slots=True)
class InstructionBounds:
    """The most steps that an instruction may take, and what they may cost and last together."""

    steps: int = 20
    cost_usd: float = 1.0
    seconds: float = 900.0


class Loop(Protocol):
    """The loop that carries the message out, as far as it carries out the message's own steps too."""

    async def hand_in(self, arriving: Arriving, *, refused: str) -> Message:
        """Takes the message in, once under its id; as a dead letter where `refused` says why."""
        ...

    async def settled(self, step: Message, *, of: Message) -> Message:
        """The step's message once it is done or dead; raises `BusyError` where the agent is stopped before."""
        ...


@dataclass(frozen=True, slots=True)
class MessageWork:
    """A message that is carried out. `target`: the live target that the operator named at the start."""

    engine: Engine
    message: Message
    target: str | None
    loop: Loop
    bounds: InstructionBounds = InstructionBounds()

    @property
    def key(self) -> str:
        """Under which everything that the message sets off is kept once."""
        return f"{OF_MESSAGE}{self.message.id}"

    def payload_as(self, payload: type[P]) -> P:
        """The message's payload as that type; raises `InvalidRecordError` naming the field that does not fit."""
        return payloads.payload_as(payload, self.message.payload, message=f"message {self.message.id}")

    def request(self, name: str, kind: type[R]) -> R:
        """The request of the operation that the message asks for, in its sender's name and under the message's key."""
        return self.payload_as(payload_of(name)).request(kind, by=self.by(None), key=self.key)

    async def spoken_by(self, named: str) -> Speaker:
        """Who speaks in the message: a person where a door or the operator's file says so, else an agent of that name. A person has
        the role that the store knows now.
        """
        door, sender = self.message.door, self.message.sender
        if door.startswith(PERSON):
            return await spoken_by(self.engine, door.removeprefix(PERSON))
        if door == "source" and sender is not None and sender in self.engine.config.people:
            return await spoken_by(self.engine, named)
        return Speaker(name=named)

    def by(self, triggered_by: str | None) -> str:
        """Returns who asked for it: as the message says, else its sender."""
        return triggered_by or self.message.sender or EVAL_AGENT


Action = Callable[[MessageWork], Awaitable[Json]]
