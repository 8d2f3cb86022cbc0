"""An engine for a Python program: opened on a store by its path, for coroutines and for synchronous code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from minions_evals_mcp.configured import Chosen, engine_config
from minions_evals_mcp.engine import context
from minions_evals_mcp.engine.context import Engine, EngineConfig
from minions_evals_mcp.errors import ungrouped
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.settings import settings_here

P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def open_engine(
    store: str | Path | EngineConfig | None = None,
    *,
    judge_model: str | None = None,
    embedder: str | None = None,
    read_only: bool = False,
) -> AsyncGenerator[Engine]:
    """An engine on the store at that path, with the environment's keys and settings and the shipped skills.

    Without a path, the store is `MINIONS_EVALS_DB`, else the project's, else the default. A missing file is made, except
    with `read_only`. `judge_model` is `provider:model`. An `EngineConfig` is used as it is.
    Raises `BadInputError` for a setting that is wrong, `StoreError` for a file that cannot be used.
    """
    if isinstance(store, EngineConfig):
        config = store
    else:
        chosen = Chosen(
            db=None if store is None else Path(store), judge_model=judge_model, embedder=embedder, read_only=read_only
        )
        config = engine_config(settings_here(), chosen)
    async with context.open_engine(config) as engine:
        yield engine


@frozen_type
class SyncEngine:
    """An open engine for synchronous code: `engine(verb, …)` calls the verb with this engine first and waits for its result.

    The verb's own signature holds for the arguments. It also works where an event loop runs already, as in a notebook.
    """

    engine: Engine
    portal: BlockingPortal

    def __call__(self, verb: Callable[Concatenate[Engine, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The verb's result; raises what the verb raises."""

        async def carried_out() -> T:
            with ungrouped():
                return await verb(self.engine, *args, **kwargs)

        return self.portal.call(carried_out)


@contextmanager
def open_engine_sync(
    store: str | Path | EngineConfig | None = None,
    *,
    judge_model: str | None = None,
    embedder: str | None = None,
    read_only: bool = False,
) -> Generator[SyncEngine]:
    """The synchronous twin of `open_engine`: its verbs are called as `engine(verb, …)`."""
    opened = partial(open_engine, store, judge_model=judge_model, embedder=embedder, read_only=read_only)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened()) as engine:
        yield SyncEngine(engine, portal)
