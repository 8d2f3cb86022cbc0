"""Messages of the agent to itself from what the engine recorded: each event once, in the transaction that reads on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from agent.binding import Doing
from agent.daemon import Agent
from minions_evals_mcp.messages.payloads import OWN, EventSeen, topic_of
from minions_evals_mcp.skills import NAMES
from minions_evals_mcp.store.agent import inbox, lease
from minions_evals_mcp.store.agent.event_feed import Happened, happened, last_event
from minions_evals_mcp.store.agent.inbox import Arriving
from minions_evals_mcp.store.connection import Db

PAGE = 200
AHEAD = 1000
"""After so many events that start nothing the agent notes that it has read them."""


@dataclass(frozen=True, slots=True)
class News:
    """The events since the agent read last, as far as it starts something."""

    events: list[Happened]
    read: int
    last: int


def news(db: Db, types: tuple[str, ...]) -> News:
    """Returns what has not been reacted to."""
    read = lease.position(db, "events")
    return News(happened(db, after=read, types=types, limit=PAGE), read, last_event(db))


async def react(agent: Agent) -> None:
    """Puts what happened into the inbox."""
    types = tuple(kind for kind in OWN if kind in agent.doings)
    while True:
        seen = await agent.engine.store.read(lambda db: news(db, types))
        if not seen.events and seen.last - seen.read < AHEAD:
            return
        await agent.engine.store.write(partial(_take_in, agent=agent, page=seen))
        if len(seen.events) < PAGE:
            return


def _take_in(db: Db, *, agent: Agent, page: News) -> None:
    lease.require(db, agent.holder)
    for event in page.events:
        if starts_something(event, agent.doings[event.type]):
            payload = EventSeen(subject_id=event.subject_id, detail=event.detail)
            topic = topic_of(OWN[event.type], payload, event.subject_id)
            arriving = Arriving(f"event:{event.seq}", event.type, topic, None, payload.model_dump(mode="json"))
            inbox.put(db, arriving, at=agent.engine.clock())
    lease.advance(db, "events", page.events[-1].seq if len(page.events) == PAGE else page.last)


def starts_something(event: Happened, doings: Sequence[Doing]) -> bool:
    """Whether there is anything to do: a test-run that passed has no failure to learn from, but may start a skill of your own."""
    return event.detail.get("passed") is not True or any(doing.skill not in NAMES for doing in doings)
