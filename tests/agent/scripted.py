"""A model that follows a script, on the real wire: each reply is a step of an instruction."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine
from tests.fakes.llm_server import Server, serving
from tests.workshop import config_in, opened


def step(verb: str, reason: str = "so it was asked", **arguments: JsonValue) -> str:
    """A reply that names the next step."""
    return json.dumps({"reason": reason, "verb": verb, "arguments": json.dumps(arguments)})


def finish(reason: str = "It is done.") -> str:
    """A reply that ends the instruction."""
    return step("finish", reason)


@asynccontextmanager
async def led_by_a_model(folder: Path) -> AsyncGenerator[tuple[Engine, Server]]:
    """An engine with a model set up, and the server that speaks for it."""
    async with serving() as server, opened(config_in(folder, model_url=server.url)) as engine:
        server.heard = []
        yield engine, server
