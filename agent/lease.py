"""One agent works on a store: it holds a lease, which a crashed holder loses by itself."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
from filelock import FileLock, Timeout

from agent.daemon import log
from minions_evals_mcp.engine.jobs import lock_path
from minions_evals_mcp.errors import BusyError, StoreError
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store.agent import lease
from minions_evals_mcp.store.agent.lease import AgentLease

LOOKED_S = 0.2
"""So long the lock is tried for: whoever asks whether an agent lives has it for a moment."""
LEASE_S = 12.0
"""How long a holder that says nothing keeps the lease."""
RENEWED_EVERY_S = 4.0


@asynccontextmanager
async def held_lease(engine: Engine) -> AsyncGenerator[str]:
    """Holds the lease, by the name that it is held under; raises `BusyError` where another agent lives.

    On one machine a lock on a file tells at once that a holder has died; on another, its lease must expire.
    """
    path = lock_path(engine.config.db, "agent")
    lock = _locked(path)
    try:
        holder = f"{socket.gethostname()}:{os.getpid()}:{engine.new_id()}"
        await _take(engine, holder)
        try:
            yield holder
        finally:
            with anyio.CancelScope(shield=True):
                await engine.store.write(lambda db: lease.release(db, holder))
    finally:
        lock.release()


def _locked(path: Path) -> FileLock:
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=LOOKED_S)
    except Timeout:
        raise _busy("another process on this machine") from None
    return lock


def _busy(who: str) -> BusyError:
    return BusyError(
        f"an agent is already working on this store: {who}.",
        remedy="`minions-eval-agent status` shows it. Stop it first, or let it do the work.",
    )


async def _take(engine: Engine, holder: str) -> None:
    """Takes the lease; waits out one that was left by a crash on another machine."""
    seen: AgentLease | None = None
    while True:
        at = engine.clock()
        wanted = AgentLease(holder, socket.gethostname(), at + timedelta(seconds=LEASE_S))
        current_lease = await engine.store.read(lease.lease)
        dead = current_lease.holder if current_lease is not None and current_lease.host == wanted.host else None
        other = await engine.store.write(
            lambda db, new=wanted, at=at, dead=dead: lease.take(db, new, at=at, instead_of=dead)
        )
        if other is None:
            return
        left = (other.expires_at - at).total_seconds()
        if left > LEASE_S or (seen is not None and seen.expires_at != other.expires_at):
            raise _busy(other.holder)
        seen = other
        await anyio.sleep(left + 0.01)


def is_alive_here(db: Path) -> bool:
    """Returns whether a process on this machine works on that store as its agent, whatever its lease says."""
    try:
        FileLock(lock_path(db, "agent"), thread_local=False).acquire(timeout=0).lock.release()
    except Timeout:
        return True
    except OSError:
        return False
    return False


async def keep_renewed(engine: Engine, holder: str) -> None:
    """Holds the lease on; raises `BusyError` once another agent has it.

    A store that cannot be written, for its disk is full, is tried until it can: on this machine the file's lock keeps the
    lease, and an agent elsewhere would have to write to the same store to take it.
    """
    while True:
        await anyio.sleep(RENEWED_EVERY_S)
        until = engine.clock() + timedelta(seconds=LEASE_S)
        try:
            await engine.store.write(lambda db, until=until: lease.renew(db, holder, until=until))
        except StoreError as error:
            log.error("lease-not-renewed", error=str(error))
