"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import place_store


@pytest.fixture
def bare(tmp_path: Path) -> Terminal:
    """A terminal in an empty folder."""
    return Terminal(tmp_path)


@pytest.fixture
def at(bare: Terminal) -> Terminal:
    """A terminal in a folder that holds an empty store, and nothing else: to make one takes longer than most commands."""
    place_store(bare.folder)
    return bare


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A terminal whose store holds the demo; for tests that only read."""
    terminal = Terminal(tmp_path_factory.mktemp("shop"))
    assert terminal.run("demo", "--db", str(terminal.db)).code == 0
    return terminal


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A model on loopback."""
    async with serving() as running:
        yield running
