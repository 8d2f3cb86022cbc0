"""The loop: whatever wakes it, it looks at what happened, what is due and what waits, and starts what may start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import anyio

from agent.daemon import Agent
from agent.inbox import carry_out
from agent.integrations.delivery import deliver
from agent.lease import keep_renewed
from agent.rounds.reactions import news, react
from agent.rounds.schedule import tick
from agent.store_retry import surely
from agent.wakeups import follow_store
from minions_evals_mcp.messages.payloads import OWN
from minions_evals_mcp.messages.send_message import FROM_TRACES, OWN_IDS
from minions_evals_mcp.store.agent import delivery, inbox
from minions_evals_mcp.store.agent.inbox import Message, Ordering
from minions_evals_mcp.store.connection import Db

RUNS = ("run-test-case", "run-benchmark", "compare-prompts", "batch-run-tests", "run-ab-test", "agent-run-completed")
"""Messages that take long, of which a sender's run side by side where they are of one type and about several subjects."""
ORDERING = Ordering(RUNS, tuple(OWN), (*OWN_IDS, FROM_TRACES))


async def serve(agent: Agent, *, until_quiet: bool) -> None:
    """Works until it is stopped; with `until_quiet` until all that is there, and all that follows from it, is done."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_renewed, agent.engine, agent.holder)
        tasks.start_soon(follow_store, agent.engine, agent.pulse)
        tasks.start_soon(deliver, agent)
        await _work(agent, until_quiet=until_quiet)
        tasks.cancel_scope.cancel()


async def _work(agent: Agent, *, until_quiet: bool) -> None:
    async with anyio.create_task_group() as messages:
        while not agent.stopping:
            seen = agent.pulse.count
            look = await surely(agent, partial(_looked, agent), doing="look")
            for message in look.due:
                agent.in_flight.add(message.seq)
                messages.start_soon(carry_out, agent, message)
            if until_quiet and await _is_quiet(agent):
                return
            await agent.pulse.after(seen, timeout_s=look.wait_s)
        messages.cancel_scope.deadline = anyio.current_time() + agent.rhythm.grace_s


@dataclass(frozen=True, slots=True)
class ReadyMessages:
    """The messages that may start now, and how long it is until one that was put off may, or the next minute begins."""

    due: list[Message]
    wait_s: float


async def _looked(agent: Agent) -> ReadyMessages:
    """Returns what may start, once what happened and what is due has been put into the inbox."""
    await react(agent)
    next_minute = await tick(agent)
    return await look(agent, longest_s=next_minute.total_seconds())


async def look(agent: Agent, *, longest_s: float) -> ReadyMessages:
    """Looks what may start."""
    under_way = frozenset(agent.in_flight)  # before the snapshot: what ends after it still stands there as pending
    room = agent.rhythm.workers - len(under_way - agent.yielded)
    now = agent.engine.clock()
    latest = now + agent.rhythm.longest_wait

    def what_may_start(db: Db) -> ReadyMessages:
        due = inbox.due(db, ORDERING, now=now, latest=latest, skip=under_way, limit=room) if room > 0 else []
        later = inbox.next_due(db, after=now)
        return ReadyMessages(due, longest_s if later is None else min(longest_s, (later - now).total_seconds() + 0.001))

    return await agent.engine.store.read(what_may_start)


async def _is_quiet(agent: Agent) -> bool:
    """Returns whether nothing is under way, nothing waits that could start, and whoever is not told yet is down."""
    if agent.in_flight or agent.sources:
        return False
    return await agent.engine.store.read(lambda db: _nothing_waits(db, agent))


def _nothing_waits(db: Db, agent: Agent) -> bool:
    waiting = [name for name in delivery.addressees(db) if name not in agent.down and agent.route(name) is not None]
    return not waiting and not inbox.counts(db).get("pending") and not news(db, tuple(agent.doings)).events
