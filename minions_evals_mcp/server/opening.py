"""From options and settings to an open engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from minions_evals_mcp.configured import Chosen, engine_config
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.server.edge.logs import log
from minions_evals_mcp.server.options import ServerOptions, named_path
from minions_evals_mcp.settings import Settings


@asynccontextmanager
async def opened(options: ServerOptions, settings: Settings) -> AsyncGenerator[Engine]:
    """The server's engine, open."""
    log()  # what the engine has to say is written down as what the server has
    chosen = Chosen(db=named_path(options, settings), read_only=options.read_only, explain=options.explain)
    async with open_engine(engine_config(settings, chosen)) as engine:
        yield engine
