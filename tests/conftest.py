"""Shared by all tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from minions_evals_mcp.engine.context import Engine
from tests.workshop import config_in, opened


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    """An engine on an empty store, with a stepping clock and counted ids; no model is set up."""
    async with opened(config_in(tmp_path)) as engine:
        yield engine
