"""A model that follows a script, on the real wire: each reply is a step of an instruction."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import config_in, opened


def step(verb: str, reason: str = "so it was asked", **arguments: JsonValue) -> str:
    """A reply that names the next step."""
    return json.dumps({"reason": reason, "verb": verb, "arguments": json.dumps(arguments)})


def finish(reason: str = "It is done.") -> str:
    """A reply that ends the instruction."""
    return step("finish", reason)


@asynccontextmanager
async def led_by_a_model(
    folder: Path, *, explain: bool = False, explain_calls: int = 50
) -> AsyncGenerator[tuple[Engine, Server]]:
    """An engine with a model set up, and the server that speaks for it. `explain`: it may be asked why something failed."""
    async with serving() as server:
        config = replace(config_in(folder, model_url=server.url), explain=explain, explain_calls=explain_calls)
        async with opened(config) as engine:
            server.heard = []
            yield engine, server
