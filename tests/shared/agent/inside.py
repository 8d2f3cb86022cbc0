"""The daemon inside the test's own process: the same loop on the same store, without the second that a process takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from agent.binding import bind
from agent.daemon import Agent, Rhythm, Route, pulled
from agent.lease import held_lease
from agent.loop import serve
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.messages.send_message import Letter, send_message
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.agent.inbox import Message
from tests.hang import HANG_S
from tests.workshop import Json

QUICK = Rhythm(retry_s=0.01)


@asynccontextmanager
async def at_work(
    engine: Engine, *, route: Route = pulled, rhythm: Rhythm = QUICK, target: str | None = None
) -> AsyncGenerator[Agent]:
    """An agent that holds the lease."""
    async with held_lease(engine) as holder:
        yield Agent(engine, bind(engine.skills), holder, rhythm, route, target)


async def drained(engine: Engine, *, route: Route = pulled, rhythm: Rhythm = QUICK, target: str | None = None) -> Agent:
    """Everything that is in the store is done, with all that follows from it."""
    with anyio.fail_after(HANG_S):
        async with at_work(engine, route=route, rhythm=rhythm, target=target) as agent:
            await serve(agent, until_quiet=True)
            return agent


async def sent(engine: Engine, ident: str, kind: str, **payload: object) -> str:
    """The id of a message of the orchestrator's that is taken in."""
    said: Json = {"id": ident, "type": kind, "payload": payload, "fromAgentId": "orchestrator"}  # pyright: ignore[reportAssignmentType]  JSON in the tests' own words
    return (await send_message(engine, Letter.model_validate(said))).id


async def kept(engine: Engine, ident: str) -> Message:
    """The message as it stands."""
    found = await engine.store.read(lambda db: inbox.message(db, ident))
    assert found is not None
    return found
