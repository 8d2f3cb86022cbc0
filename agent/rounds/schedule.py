"""Benchmarks whose time has come: one message each, however many times were missed."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from agent.daemon import Agent, log
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.values import from_millis, iso, to_millis
from minions_evals_mcp.engine.records.schedules import last_due
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.store.agent import inbox, lease
from minions_evals_mcp.store.agent.inbox import Arriving
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.matching_cases import scheduled

TRIGGER = "schedule"
MINUTE_MS = 60_000


async def tick(agent: Agent) -> timedelta:
    """Puts what is due into the inbox, once a minute; how long it is until the next look."""
    now = agent.engine.clock()
    minute, past = divmod(to_millis(now), MINUTE_MS)
    if minute != agent.looked_at_minute:
        if TRIGGER in agent.doings:
            await agent.engine.store.write(partial(_take_in, agent=agent, now=now))
        agent.looked_at_minute = minute
    return timedelta(milliseconds=MINUTE_MS - past + 1)


def _take_in(db: Db, *, agent: Agent, now: datetime) -> None:
    lease.require(db, agent.holder)
    since = lease.position(db, "schedules")
    if since > 0:  # at the very first look nothing has been missed
        for benchmark_id, expression in scheduled(db):
            due = _due(benchmark_id, expression, after=from_millis(since), until=now)
            if due is not None:
                _put(db, benchmark_id, due, now)
    lease.advance(db, "schedules", to_millis(now))


def _due(benchmark_id: str, expression: str, *, after: datetime, until: datetime) -> datetime | None:
    try:
        return last_due(expression, after=after, until=until, record=f"benchmark {benchmark_id}")
    except InvalidRecordError as error:  # written before schedules were vetted
        log.error("schedule-unreadable", benchmark_id=benchmark_id, error=str(error))
        return None


def _put(db: Db, benchmark_id: str, due: datetime, now: datetime) -> None:
    ident = f"schedule:{text_digest(benchmark_id)}:{iso(due)}"
    inbox.put(db, Arriving(ident, TRIGGER, benchmark_id, None, {"benchmarkId": benchmark_id}), at=now)
