"""What the engine's tests share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from minions_evals_mcp.engine.context import Engine
from tests.shared.engine.ab_workshop import laboratory
from tests.shared.fakes.llm_server import Server, serving


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A server that speaks both wire forms."""
    async with serving() as running:
        yield running


@pytest.fixture
async def lab(tmp_path: Path, server: Server) -> AsyncGenerator[Engine]:
    """An engine whose providers are that server."""
    async with laboratory(tmp_path, server) as engine:
        yield engine
