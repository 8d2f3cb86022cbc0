"""The subscriptions of listeners to changes, whichever process wrote it; nobody listens, nothing is looked at."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from minions_evals_mcp.server.edge.guard import EvalsServer, connection_of
from minions_evals_mcp.server.edge.logs import log
from minions_evals_mcp.server.edge.refusals import as_protocol_error
from minions_evals_mcp.server.resources.addresses import touched
from minions_evals_mcp.server.session.opened import ServerSession

if TYPE_CHECKING:
    from minions_evals_mcp.store.queries.changes import Changes, StoreState

LOOKED_S = 0.1
MOST = 1000
"""So many addresses one connection of the 2025 era may subscribe to."""


class StoreWatch:
    """Looks at the store while somebody listens, and publishes the addresses that changed."""

    def __init__(self, session: ServerSession, bus: InMemorySubscriptionBus) -> None:
        self._session = session
        self._bus = bus
        self._listeners = 0
        self._seen: StoreState | None = None
        self._wanted = anyio.Event()

    @property
    def is_looking(self) -> bool:
        """Returns whether somebody listens."""
        return self._wanted.is_set()

    async def begin(self) -> None:
        """Counts one more listener; whatever is committed from here on is told. Raises what keeps the engine from opening."""
        seen = self._seen or (await self._look(None))[0]
        self._seen = self._seen or seen
        self._listeners += 1
        self._wanted.set()

    def end(self) -> None:
        """Counts one listener less."""
        self._listeners -= 1
        if not self._listeners:
            self._seen, self._wanted = None, anyio.Event()

    async def run(self) -> None:
        """Publishes until it is cancelled."""
        while True:
            await self._wanted.wait()
            await anyio.sleep(LOOKED_S)
            try:
                await self._tell()
            except Exception:  # noqa: BLE001  a store that is locked for a moment: the next look tells the rest
                log().exception("watch-failed")

    async def _tell(self) -> None:
        seen = self._seen
        if seen is None:
            return
        now, changes = await self._look(seen)
        if self._seen is not None:
            self._seen = now
        for address in touched(changes):
            await self._bus.publish(ResourceUpdated(uri=address))

    async def _look(self, seen: StoreState | None) -> tuple[StoreState, Changes]:
        engine = await self._session.engine()
        from minions_evals_mcp.store.queries import changes  # noqa: PLC0415  the store's modules come with the engine

        version = await engine.store.version()  # before the look: a commit between the two is seen by the next
        if seen is not None and seen.version == version:
            return seen, changes.Changes()
        now = await engine.store.read(partial(changes.look, version=version))
        if seen is None:
            return now, changes.Changes()
        return now, await engine.store.read(partial(changes.changes, before=seen, after=now))


class _Connection2025:
    """The addresses that one connection of the 2025 era subscribed to, and the way to tell it."""

    def __init__(self, bus: InMemorySubscriptionBus, context: ServerRequestContext[Any, Any]) -> None:
        self.addresses: set[str] = set()
        self.watched = False
        self._session = context.session
        self._changed, self._told = anyio.create_memory_object_stream[str](1024)
        self._leave_bus = bus.subscribe(self._heard)

    def _heard(self, event: ServerEvent) -> None:
        if isinstance(event, ResourceUpdated) and event.uri in self.addresses:
            try:
                self._changed.send_nowait(event.uri)
            except anyio.WouldBlock:
                log().warning("subscriber-is-slow")
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._leave_bus()

    async def tell(self) -> None:
        """Tells the connection until it is gone."""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for address in self._told:
                await self._session.send_resource_updated(address)
        self._told.close()

    def close(self) -> None:
        """The connection is gone."""
        self._leave_bus()
        self._changed.close()


class Subscriptions:
    """`subscriptions/listen` of the 2026 era and `resources/subscribe` of the 2025 era, over one watch."""

    def __init__(self, session: ServerSession) -> None:
        self.bus = InMemorySubscriptionBus()
        self._watch = StoreWatch(session, self.bus)
        self._listen = ListenHandler(self.bus)
        self._tasks: TaskGroup | None = None

    def serve_on(self, server: EvalsServer) -> None:
        """Registers both eras' methods."""
        server.serve("subscriptions/listen", SubscriptionsListenRequestParams, self._listened)
        server.serve("resources/subscribe", SubscribeRequestParams, self._subscribed)
        server.serve("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribed)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Watches and tells for as long as the server serves."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._watch.run)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def _listened(
        self, context: ServerRequestContext[Any, Any], request: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        with as_protocol_error():
            await self._watch.begin()
        try:
            return await self._listen(context, request)
        finally:
            self._watch.end()

    async def _subscribed(
        self, context: ServerRequestContext[Any, Any], request: SubscribeRequestParams
    ) -> EmptyResult:
        connection = connection_of(context)
        listener = connection.state.get(__name__)
        if listener is None:
            assert self._tasks is not None
            listener = connection.state[__name__] = _Connection2025(self.bus, context)
            connection.exit_stack.callback(listener.close)
            self._tasks.start_soon(listener.tell)
        if len(listener.addresses) >= MOST:
            raise MCPError(INVALID_PARAMS, f"at most {MOST} subscriptions; unsubscribe from one first.")
        listener.addresses.add(str(request.uri))
        if not listener.watched:
            with as_protocol_error():
                await self._watch.begin()
            listener.watched = True  # two at once are two listeners, and each has its end
            connection.exit_stack.callback(self._watch.end)
        return EmptyResult()

    async def _unsubscribed(
        self, context: ServerRequestContext[Any, Any], request: UnsubscribeRequestParams
    ) -> EmptyResult:
        listener = connection_of(context).state.get(__name__)
        if listener is not None:
            listener.addresses.discard(str(request.uri))
        return EmptyResult()
