"""What the tests of conversations share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import place_store


@pytest.fixture
def at(tmp_path: Path) -> Terminal:
    """A terminal in a folder that holds an empty store."""
    place_store(tmp_path)
    return Terminal(tmp_path)


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A model on loopback."""
    async with serving() as running:
        yield running
