"""What the acceptance tests share: a folder of their own with a fake judge on loopback."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.acceptance.workplace import Workplace
from tests.shared.fakes.llm_server import Server, serving


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A fake judge without latency or faults."""
    async with serving() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, server: Server) -> Workplace:
    """An empty folder whose commands ask that judge."""
    return Workplace(tmp_path, server.url)
