"""The store: one writer that commits in groups, readers that see committed data only."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import TaskStatus

from minions_evals_mcp.errors import ConflictError, StoreError, ungrouped
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.connection import (
    Connection,
    Db,
    OpenedFile,
    connect,
    make_durable,
    open_raw,
    sqlite,
    translated,
)
from minions_evals_mcp.store.migrate import migrate, refuse_foreign, require_store, vet_version
from minions_evals_mcp.store.veil import connect_veiled, is_anything_sealed

FOLDER = ".minions-evals"
"""The folder of a project's own store."""
IGNORES_ALL = "# Created by minions-evals: results stay on this machine.\n*\n"

T = TypeVar("T")
GROUP = 200
"""How many callers one transaction serves at most."""


@dataclass(slots=True, eq=False)
class Ticket(Generic[T]):
    """A write under way: await `result()` to learn that it is committed."""

    work: Callable[[Db], T]
    done: anyio.Event = field(default_factory=anyio.Event)
    value: T | None = None
    error: BaseException | None = None

    async def result(self) -> T:
        """Returns what the write returned, once committed; raises what it raised."""
        await self.done.wait()
        if self.error is not None:
            raise self.error
        return self.value  # pyright: ignore[reportReturnType]  T may itself be None


@dataclass(slots=True, eq=False)
class WriteQueue:
    """The tickets that wait for the writer.

    They are kept here and not in a stream. A stream hands its item to the task that waits, and an item handed over in the turn in
    which that task is cancelled is lost. Here an event wakes the writer, which takes the tickets once it runs.
    """

    queued: deque[Ticket[Any]] = field(default_factory=deque[Ticket[Any]])
    senders: deque[tuple[Ticket[Any], anyio.Event]] = field(default_factory=deque[tuple[Ticket[Any], anyio.Event]])
    """Tickets that wait for room, in order, each with the event that its sender waits for."""

    is_closed: bool = False
    woken: anyio.Event = field(default_factory=anyio.Event)

    async def put(self, ticket: Ticket[Any], path: Path) -> None:
        """Queues it once there is room. A sender that is cancelled before it returns has queued nothing."""
        await anyio.lowlevel.checkpoint()
        if self.is_closed:
            raise StoreError(f"the store {path} is closed.", remedy="Open it again.")
        if len(self.queued) < GROUP and not self.senders:
            self.queued.append(ticket)
            self.woken.set()
            return
        let_in = anyio.Event()
        self.senders.append((ticket, let_in))
        try:
            await let_in.wait()
        except BaseException:
            with suppress(ValueError):
                self.senders.remove((ticket, let_in))
            with suppress(ValueError):
                self.queued.remove(ticket)
            raise

    def take(self) -> list[Ticket[Any]]:
        """The next group; those who wait for room take its places."""
        group = [self.queued.popleft() for _ in range(min(GROUP, len(self.queued)))]
        while self.senders and len(self.queued) < GROUP:
            self._let_in()
        return group

    def _let_in(self) -> None:
        ticket, let_in = self.senders.popleft()
        self.queued.append(ticket)
        let_in.set()

    def close(self) -> None:
        """Lets no more in. What is queued, or waits for room, is still written."""
        self.is_closed = True
        while self.senders:
            self._let_in()
        self.woken.set()

    def abandon(self, path: Path) -> None:
        """Answers whoever is left: the writer has ended, as by an interrupt that struck it."""
        self.close()
        while self.queued:
            ticket = self.queued.popleft()
            ticket.error = _broken_off(path)
            ticket.done.set()

    async def wait(self) -> None:
        """Waits until something is queued or the queue is closed."""
        if not self.queued and not self.is_closed:
            self.woken = anyio.Event()
            await self.woken.wait()


def _commit_group(db: Db, path: Path, file: OpenedFile | None, group: list[Ticket[Any]]) -> None:
    """Runs every caller's work in one transaction; where one of several fails, each again in a savepoint of its own."""
    with translated(path):
        row_digests.keep(db)
        db.execute("BEGIN IMMEDIATE")
        try:
            if not _run_all(db, path, group):
                db.execute("ROLLBACK")
                db.execute("BEGIN IMMEDIATE")
                for ticket in group:
                    _run_one(db, path, ticket)
            if file is not None:
                file.vet()
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _run_all(db: Db, path: Path, group: list[Ticket[Any]]) -> bool:
    """Runs the works one after the other, without a savepoint each, for most groups have no failure; false at the first."""
    try:
        with translated(path):
            for ticket in group:
                ticket.value, ticket.error = ticket.work(db), None
    except Exception:
        if len(group) == 1 or not db.in_transaction:  # a full disk rolls everything back by itself
            raise
        return False
    return True


def _run_one(db: Db, path: Path, ticket: Ticket[Any]) -> None:
    db.execute("SAVEPOINT one")
    try:
        with translated(path):
            ticket.value, ticket.error = ticket.work(db), None
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
    writes: WriteQueue | None
    veiled: Connection | None = None
    opening: anyio.Lock = field(default_factory=anyio.Lock)

    async def submit(self, work: Callable[[Db], T]) -> Ticket[T]:
        """Queues a write; a caller that is cancelled afterwards does not cancel it."""
        if self.writes is None:
            raise StoreError(
                f"the store {self.path} is open read-only.",
                remedy=f"Open it without {argument('read_only')}. If it is on a read-only medium, copy it first.",
            )
        ticket = Ticket(work)
        await self.writes.put(ticket, self.path)
        return ticket

    async def write(self, work: Callable[[Db], T]) -> T:
        """Returns what the write returned, once it is committed."""
        return await (await self.submit(work)).result()

    async def read(self, work: Callable[[Db], T]) -> T:
        """Returns what the read returned, from one snapshot of committed data as doors may see it: without what is sealed."""
        result = await self.reader.run(partial(_unless_sealed, self.path, self.reader.file, work))
        if not isinstance(result, _Sealed):
            return result
        return await (await self._behind_the_veil()).run(partial(_in_snapshot, self.path, self.reader.file, work))

    async def read_whole(self, work: Callable[[Db], T]) -> T:
        """Returns what the read returned, sealed content and all: for the engine's own work, never for what a door answers."""
        return await self.reader.run(partial(_in_snapshot, self.path, self.reader.file, work))

    async def read_for(self, work: Callable[[Db], T], *, sealed: bool) -> T:
        """As `read_whole` for a run that is made under a seal, as `read` for any other: none finds what it must not tell of."""
        return await (self.read_whole(work) if sealed else self.read(work))

    async def version(self) -> int:
        """A number that is another one as soon as anybody, in this process or in another, has committed something."""
        return await self.reader.run(partial(_version, self.path))

    async def _behind_the_veil(self) -> Connection:
        async with self.opening:
            if self.veiled is None:
                connection = connect_veiled(self.path)
                with anyio.CancelScope(
                    shield=True
                ):  # else its thread would be left behind, and speak to a loop that has gone
                    await connection
                self.veiled = connection
            return self.veiled

    async def close(self) -> None:
        """Lets no more writes in, and closes the veiled connection."""
        if self.writes is not None:
            self.writes.close()
        if self.veiled is not None:
            with anyio.CancelScope(shield=True):
                await self.veiled.close()


class _Sealed:
    """Said in place of an answer: something is sealed, so that the read must go through the veil."""


_SEALED = _Sealed()


def _unless_sealed(path: Path, file: OpenedFile | None, work: Callable[[Db], T], db: Db) -> T | _Sealed:
    return _in_snapshot(path, file, lambda raw: _SEALED if is_anything_sealed(raw) else work(raw), db)


def _version(path: Path, db: Db) -> int:
    with translated(path):
        return db.execute("PRAGMA data_version").fetchone()[0]


def _in_snapshot(path: Path, file: OpenedFile | None, work: Callable[[Db], T], db: Db) -> T:
    with translated(path):
        if file is not None:
            file.vet()
        db.execute("BEGIN")
        try:
            return work(db)
        finally:
            db.execute("COMMIT")


async def _serve(
    db: Connection, path: Path, queue: WriteQueue, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Serves the queue in groups until it is closed and empty, whatever is cancelled around it.

    A loop that is broken off, as by a second Ctrl-C, cancels each task itself, which no scope keeps from it; whoever then waits for
    what is queued would wait for ever.
    """
    task_status.started()  # a task that is cancelled before it has begun serves nobody
    try:
        with anyio.CancelScope(shield=True):
            while queue.queued or not queue.is_closed:
                with suppress(anyio.get_cancelled_exc_class()):
                    await queue.wait()
                if group := queue.take():
                    await _settle(db, path, group)
    finally:
        queue.abandon(path)


async def _settle(db: Connection, path: Path, group: list[Ticket[Any]]) -> None:
    try:
        await db.run_whole(lambda raw: _commit_group(raw, path, db.file, group))
    except ConflictError as error:  # a deferred reference, checked at COMMIT: each caller answers for its own
        if len(group) == 1:
            group[0].error = group[0].error or error
        else:
            for ticket in group:
                await _settle(db, path, [ticket])
    except Exception as error:  # noqa: BLE001  every caller of the group is told
        for ticket in group:
            ticket.error = ticket.error or error
    except BaseException:
        for ticket in group:
            ticket.error = ticket.error or _broken_off(path)
        raise
    finally:
        for ticket in group:
            ticket.done.set()


def _broken_off(path: Path) -> StoreError:
    return StoreError(f"the write to the store {path} was interrupted.", remedy="Run it again.")


@asynccontextmanager
async def open_store(path: Path, *, read_only: bool = False) -> AsyncGenerator[Store]:
    """The store in that file, made if it is missing (an error with `read_only`); closed with every queued write committed."""
    if not read_only:
        _make_folder(path)
        refuse_foreign(path)
    async with AsyncExitStack() as stack:
        stack.enter_context(ungrouped())
        writer = None if read_only else await stack.enter_async_context(_opened(path))
        if writer is not None:
            await writer.run(lambda db: _migrated(db, path))
        reader = await stack.enter_async_context(_opened(path, read_only=True))
        await reader.run(lambda db: _required(db, path))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        writes = None if writer is None else WriteQueue()
        if writer is not None and writes is not None:
            await tasks.start(_serve, writer, path, writes)
        store = Store(path, reader, writes)
        try:
            yield store
        finally:
            await store.close()


def _make_folder(path: Path) -> None:
    """Makes the store's folder; git ignores that of a project."""
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        ignoring = path.parent / ".gitignore"
        if path.parent.name == FOLDER and not ignoring.exists():
            ignoring.write_text(IGNORES_ALL, "utf-8")


def _migrated(db: Db, path: Path) -> None:
    with translated(path):
        vet_version(db, path)
        make_durable(db)
        migrate(db, path)


def _required(db: Db, path: Path) -> None:
    with translated(path):
        require_store(db, path)


@asynccontextmanager
async def _opened(path: Path, *, read_only: bool = False) -> AsyncGenerator[Connection]:
    connection = connect(path, read_only=read_only)
    try:
        await connection
        yield connection
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


def remove_unused(path: Path) -> bool:
    """Removes a store in which nothing was ever written; whether it did. One that anybody else has open stays."""
    if not path.exists():
        return False
    with closing(open_raw(path)) as db:
        db.execute("PRAGMA busy_timeout = 0")
        try:
            was_shared = db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            is_ours = was_shared and db.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
            return is_ours and _removed_empty(db, path)
        except sqlite.OperationalError:  # somebody has it open
            return False


def _removed_empty(db: Db, path: Path) -> bool:
    """Removes the file while nobody else can read it, and marked as none of ours: who has just opened it is refused, and loses nothing."""
    db.execute("BEGIN EXCLUSIVE")
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    if any(db.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for name in names):
        db.execute("ROLLBACK")
        make_durable(db)
        return False
    db.execute("PRAGMA application_id = 1")
    path.unlink()
    db.execute("COMMIT")
    return True


__all__ = ["Db", "Store", "Ticket", "open_store", "remove_unused", "sqlite"]
