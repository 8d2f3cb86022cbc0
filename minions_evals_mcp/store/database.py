"""The store: one writer that commits in groups, readers that see committed data only."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.store.connection import Connection, Db, connect, sqlite, translated
from minions_evals_mcp.store.migrate import migrate, refuse_foreign, vet_version

T = TypeVar("T")
GROUP = 200
"""How many callers' writes one transaction takes at most."""


@dataclass(slots=True, eq=False)
class Ticket(Generic[T]):
    """A write under way: await `result()` to learn that it is committed."""

    work: Callable[[Db], T]
    done: anyio.Event = field(default_factory=anyio.Event)
    value: T | None = None
    error: BaseException | None = None

    async def result(self) -> T:
        """What the write returned, once committed; raises what it raised."""
        await self.done.wait()
        if self.error is not None:
            raise self.error
        return self.value  # pyright: ignore[reportReturnType]  T may itself be None


def _commit_group(db: Db, path: Path, group: list[Ticket[Any]]) -> None:
    """Runs each caller's work in a savepoint of one transaction; a caller that fails takes nobody with it."""
    with translated(path):
        db.execute("BEGIN IMMEDIATE")
        try:
            for ticket in group:
                _run_one(db, path, ticket)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _run_one(db: Db, path: Path, ticket: Ticket[Any]) -> None:
    db.execute("SAVEPOINT one")
    try:
        with translated(path):
            ticket.value = ticket.work(db)
    except Exception as error:
        ticket.error = error
        if not db.in_transaction:  # a full disk rolls everything back by itself
            raise
        db.execute("ROLLBACK TO one")
    db.execute("RELEASE one")


@dataclass(slots=True, eq=False)
class Store:
    """An open store. `write` and `read` take a function of `store/` that runs on a connection of its own thread."""

    path: Path
    reader: Connection
    queue: MemoryObjectSendStream[Ticket[Any]] | None

    async def submit(self, work: Callable[[Db], T]) -> Ticket[T]:
        """Queues a write; a caller that is cancelled afterwards does not cancel it."""
        if self.queue is None:
            raise StoreError(f"the store {self.path} is open for reading only.", remedy="Open it without --read-only.")
        ticket = Ticket(work)
        await self.queue.send(ticket)
        return ticket

    async def write(self, work: Callable[[Db], T]) -> T:
        """What the write returned, once it is committed."""
        return await (await self.submit(work)).result()

    async def read(self, work: Callable[[Db], T]) -> T:
        """What the read returned, from one snapshot of committed data."""
        return await self.reader.run(partial(_in_snapshot, self.path, work))


def _in_snapshot(path: Path, work: Callable[[Db], T], db: Db) -> T:
    with translated(path):
        db.execute("BEGIN")
        try:
            return work(db)
        finally:
            db.execute("COMMIT")


async def _write_groups(db: Connection, path: Path, queue: MemoryObjectReceiveStream[Ticket[Any]]) -> None:
    async for first in queue:
        group = [first]
        while len(group) < GROUP:
            try:
                group.append(queue.receive_nowait())
            except (anyio.WouldBlock, anyio.EndOfStream):
                break
        await _settle(db, path, group)


async def _settle(db: Connection, path: Path, group: list[Ticket[Any]]) -> None:
    try:
        await db.run(lambda raw: _commit_group(raw, path, group))
    except Exception as error:  # noqa: BLE001  every caller of the group is told
        for ticket in group:
            ticket.error = ticket.error or error
    for ticket in group:
        ticket.done.set()


@asynccontextmanager
async def open_store(path: Path, *, read_only: bool = False) -> AsyncGenerator[Store]:
    """The store in that file, made if it is missing (an error with `read_only`); closed with every queued write committed."""
    if read_only:
        async with _opened(path, read_only=True) as reader:
            await reader.run(lambda db: vet_version(db, path))
            yield Store(path, reader, None)
        return
    _make_folder(path)
    refuse_foreign(path)
    async with _opened(path) as writer:
        await writer.run(lambda db: _migrated(db, path))
        async with _opened(path, read_only=True) as reader, anyio.create_task_group() as tasks:
            send, receive = anyio.create_memory_object_stream[Ticket[Any]](GROUP)
            tasks.start_soon(_shielded_writer, writer, path, receive)
            try:
                yield Store(path, reader, send)
            finally:
                send.close()


def _make_folder(path: Path) -> None:
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)


def _migrated(db: Db, path: Path) -> None:
    with translated(path):
        migrate(db, path)


async def _shielded_writer(db: Connection, path: Path, queue: MemoryObjectReceiveStream[Ticket[Any]]) -> None:
    """Ends when the queue is closed and empty, whatever is cancelled around it."""
    with anyio.CancelScope(shield=True), queue:
        await _write_groups(db, path, queue)


@asynccontextmanager
async def _opened(path: Path, *, read_only: bool = False) -> AsyncGenerator[Connection]:
    connection = connect(path, read_only=read_only)
    try:
        await connection
        yield connection
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


__all__ = ["Db", "Store", "Ticket", "open_store", "sqlite"]
