"""One agent works on a store; one that has died does not keep it."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import pytest
from filelock import FileLock

from agent import lease as holding
from agent.lease import held_lease
from agent.rounds.schedule import tick
from minions_evals_mcp.engine.context import Engine, open_engine, wall_clock
from minions_evals_mcp.engine.jobs import lock_path
from minions_evals_mcp.errors import BusyError
from minions_evals_mcp.store.agent import lease
from minions_evals_mcp.store.agent.lease import AgentLease
from minions_evals_mcp.store.connection import open_raw
from tests.hang import HANG_S
from tests.shared.agent.inside import at_work, drained, kept, sent
from tests.workshop import answer, case, config_in, save


async def left_behind(engine: Engine, host: str, seconds: float) -> None:
    """A lease that somebody took and who then died."""
    at = engine.clock()
    gone = AgentLease("somebody", host, at + timedelta(seconds=seconds))
    await engine.store.write(lambda db: lease.take(db, gone, at=at))


def test_a_crashed_holder_loses_the_lease_within_15_seconds() -> None:
    assert holding.LEASE_S <= 15
    assert holding.RENEWED_EVERY_S * 2 < holding.LEASE_S


async def test_a_second_agent_on_the_store_is_refused_while_the_first_lives(engine: Engine) -> None:
    async with held_lease(engine):
        with pytest.raises(BusyError, match="already working on this store"):
            async with held_lease(engine):
                pass
    async with held_lease(engine) as holder:
        assert holder


async def test_an_agent_starts_though_somebody_is_just_asking_whether_one_lives(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lock_path(engine.config.db, "agent")
    path.parent.mkdir(parents=True)
    asking = FileLock(path, thread_local=False)
    asking.acquire()

    def asked(_: float) -> None:
        asking.release()

    monkeypatch.setattr(holding, "LOOKED_S", HANG_S)
    monkeypatch.setattr(time, "sleep", asked)
    async with held_lease(engine) as holder:
        assert holder


async def test_what_died_on_this_machine_is_replaced_at_once(engine: Engine) -> None:
    await left_behind(engine, socket.gethostname(), 3600)
    with anyio.fail_after(HANG_S):
        async with held_lease(engine):
            pass


async def test_what_died_on_another_machine_is_replaced_once_its_lease_is_over(tmp_path: Path) -> None:
    async with open_engine(config_in(tmp_path)) as engine:
        await left_behind(engine, "elsewhere", 0.3)
        with anyio.fail_after(HANG_S):
            async with held_lease(engine):
                kept_now = await engine.store.read(lease.lease)
        assert kept_now is not None
        assert kept_now.holder != "somebody"


async def test_a_lease_on_another_machine_that_is_renewed_is_respected(tmp_path: Path) -> None:
    async with open_engine(config_in(tmp_path)) as engine:
        await left_behind(engine, "elsewhere", 0.2)
        looks: list[datetime] = []

        def renewed_before_the_second_look() -> datetime:
            looks.append(wall_clock())
            if len(looks) == 2:
                with closing(open_raw(engine.config.db)) as db:
                    lease.renew(db, "somebody", until=looks[-1] + timedelta(seconds=HANG_S))
            return looks[-1]

        engine.clock = renewed_before_the_second_look
        with anyio.fail_after(HANG_S), pytest.raises(BusyError, match="somebody"):
            async with held_lease(engine):
                pass


async def test_an_agent_that_lost_its_lease_writes_nothing_any_more(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", "good"))
    await sent(engine, "m", "run-test-case", testCaseId="c")
    async with at_work(engine) as agent:
        agent.holder = "not me"
        with pytest.raises(BusyError):
            await tick(agent)
    assert (await kept(engine, "m")).state == "pending"
    await drained(engine)
    assert (await kept(engine, "m")).state == "done"
