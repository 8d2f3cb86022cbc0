"""The parts that the tools work with: the engine, opened beside the first requests, and the runs that this server carries on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from minions_evals_mcp.errors import EvalsError, StoreError
from minions_evals_mcp.server.edge.logs import log

if TYPE_CHECKING:
    from minions_evals_mcp.operations.engine import Engine
    from minions_evals_mcp.server.session.background_runs import Runs

QUIET_S = 1.0
"""A host lists tools first: until a tool is called, so much of the start is left to that, on a loaded machine too."""


class ServerSession:
    """One server's engine and runs; `target` is what the operator named to make outputs, `store` the file, if they did.

    `opening` gives the engine: importing it takes a quarter of a second, so it begins after the first requests.
    """

    def __init__(
        self,
        opening: Callable[[], AbstractAsyncContextManager[Engine]],
        *,
        target: str | None = None,
        store: Path | None = None,
    ) -> None:
        self.target = target
        self.store = store
        self._opening = opening
        self._engine: Engine | None = None
        self._runs: Runs | None = None
        self._refused: EvalsError | None = None
        self._wanted = anyio.Event()
        self._ready = anyio.Event()
        self._closing = anyio.Event()

    async def engine(self) -> Engine:
        """The open engine; raises what kept it from opening."""
        if not self._ready.is_set():
            self._wanted.set()
            await self._ready.wait()
        if self._refused is not None:
            raise self._refused
        assert self._engine is not None
        return self._engine

    async def runs(self) -> Runs:
        """The runs that go on in the background."""
        await self.engine()
        assert self._runs is not None
        return self._runs

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[ServerSession]:
        """Keeps the engine and its runs for as long as the server serves; a run that is under way then is resumable."""
        assert self._engine is None, "a session serves one server at a time"
        self._wanted, self._ready, self._closing = anyio.Event(), anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_open)
            try:
                yield self
            finally:
                self._closing.set()
                self._wanted.set()

    async def _keep_open(self) -> None:
        with anyio.move_on_after(QUIET_S):
            await self._wanted.wait()
        if self._closing.is_set():
            return
        try:
            async with self._opening() as engine:
                await self._serve(engine)
        except Exception as error:
            if self._ready.is_set():
                raise
            self._refuse(error)  # to end here would leave a host waiting, for nothing interrupts a read of stdin
        finally:
            self._engine, self._runs = None, None

    def _refuse(self, error: Exception) -> None:
        """Every call is told why there is no engine."""
        log().error("engine-not-opened", exc_info=error)
        known = isinstance(error, EvalsError)
        self._refused = error if known else StoreError("the engine could not be opened; the server's log says why.")
        self._ready.set()

    async def _serve(self, engine: Engine) -> None:
        from minions_evals_mcp.domain.speaker import REMOTE_AGENT  # noqa: PLC0415  as above
        from minions_evals_mcp.server.session.background_runs import Runs  # noqa: PLC0415  it needs the engine's modules

        engine = engine.speaking(REMOTE_AGENT)  # whoever calls without a person's token
        async with anyio.create_task_group() as tasks:
            self._engine, self._runs = engine, Runs(engine, tasks)
            if not engine.config.read_only:
                await self._runs.take_up()
            self._ready.set()
            try:
                await self._closing.wait()
            finally:
                self._runs.close()
