"""The steps of an instruction in the loop: messages of its own, while its place among the workers is free for them."""

from __future__ import annotations

from dataclasses import dataclass

from agent.daemon import Agent
from minions_evals_mcp.errors import BusyError
from minions_evals_mcp.store.agent import inbox, lease
from minions_evals_mcp.store.agent.inbox import Arriving, Message
from minions_evals_mcp.store.connection import Db


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps that `asked.Loop` asks of the agent."""

    agent: Agent

    async def hand_in(self, arriving: Arriving, *, refused: str) -> Message:
        """Takes the message in, once under its id; as a dead letter where `refused` says why."""
        agent = self.agent

        def take_in(db: Db) -> Message:
            lease.require(db, agent.holder)
            inbox.put(db, arriving, at=agent.engine.clock(), dead=refused)
            message = inbox.message(db, arriving.id)
            assert message is not None
            return message

        return await agent.engine.store.write(take_in)

    async def settled(self, step: Message, *, of: Message) -> Message:
        """The step's message once it is done or dead; raises `BusyError` where the agent is stopped before."""
        agent = self.agent
        agent.yielded.add(of.seq)
        agent.pulse.beat()
        try:
            while True:
                seen = agent.pulse.count
                message = await agent.engine.store.read(lambda db: inbox.message(db, step.id))
                assert message is not None
                if message.state != "pending":
                    return message
                if agent.stopping:
                    raise BusyError("the agent was stopped before the instruction's step was done.")
                await agent.pulse.after(seen)
        finally:
            agent.yielded.discard(of.seq)
