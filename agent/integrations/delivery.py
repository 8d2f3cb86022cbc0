"""The outbox on its way: at least once under its key, in order for each addressee; one that is down delays nobody else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import anyio
from anyio.abc import TaskGroup

from agent.daemon import Agent, log
from agent.store_retry import surely
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.ports import Neighbour
from minions_evals_mcp.store.agent import delivery, lease
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import OutboxRow

PAGE = 50
DEADLINE_S = 30.0
LONGEST_WAIT_S = 60.0


async def deliver(agent: Agent) -> None:
    """Serves every addressee that somebody takes records for, each in a task of its own."""
    served: set[str] = set()
    async with anyio.create_task_group() as tasks:
        while True:
            seen = agent.pulse.count
            waiting = partial(agent.engine.store.read, delivery.addressees)
            for addressee in await surely(agent, waiting, doing="deliver"):
                _start(agent, tasks, served, addressee)
            await agent.pulse.after(seen)


def _start(agent: Agent, tasks: TaskGroup, served: set[str], addressee: str) -> None:
    neighbour = agent.route(addressee)
    if neighbour is not None and addressee not in served:
        served.add(addressee)
        tasks.start_soon(_serve, agent, addressee, neighbour, served)


async def _serve(agent: Agent, addressee: str, neighbour: Neighbour, served: set[str]) -> None:
    """Tells the addressee everything that waits for it, and ends."""
    try:
        while rows := await agent.engine.store.read(lambda db: delivery.waiting_for(db, addressee, limit=PAGE)):
            for row in rows:
                if not await _may_follow(agent, row, neighbour):
                    break
            agent.pulse.beat()
    except EvalsError as error:
        log.error("delivery-not-settled", addressee=addressee, error=str(error))
        await anyio.sleep(agent.rhythm.retry_s)
    finally:
        served.discard(addressee)
        agent.pulse.beat()


async def _may_follow(agent: Agent, letter: OutboxRow, neighbour: Neighbour) -> bool:
    """Returns whether the next row may go; after a failure only once the wait is over."""
    try:
        with anyio.fail_after(DEADLINE_S):
            await neighbour.tell(letter.record, key=letter.key, addressee=letter.addressee)
    except BadInputError as error:
        log.warning("delivery-refused", key=letter.key, addressee=letter.addressee, reason=str(error))
        await _settle(agent, partial(delivery.refuse, seq=letter.seq, reason=str(error), at=agent.engine.clock()))
    except Exception as error:  # noqa: BLE001  whatever a neighbour does, it is tried again
        await _wait(agent, letter, f"{type(error).__name__}: {error}")
        return False
    else:
        await _settle(agent, partial(delivery.deliver, seq=letter.seq, at=agent.engine.clock()))
        log.info("delivered", key=letter.key, addressee=letter.addressee)
    agent.down.discard(letter.addressee)
    return True


async def _settle(agent: Agent, write: Callable[[Db], None]) -> None:
    def fenced(db: Db) -> None:
        lease.require(db, agent.holder)
        write(db)

    await agent.engine.store.write(fenced)


async def _wait(agent: Agent, letter: OutboxRow, reason: str) -> None:
    tried = await agent.engine.store.read(lambda db: delivery.attempts(db, letter.seq))
    wait = min(agent.rhythm.retry_s * 2 ** min(tried, 10), LONGEST_WAIT_S)
    log.warning("delivery-put-off", key=letter.key, addressee=letter.addressee, attempts=tried + 1, reason=reason)
    until = agent.engine.clock() + timedelta(seconds=wait)
    await _settle(agent, partial(delivery.put_off, seq=letter.seq, reason=reason, until=until))
    agent.down.add(letter.addressee)
    agent.pulse.beat()
    await anyio.sleep(wait)
