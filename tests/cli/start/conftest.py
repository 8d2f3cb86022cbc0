"""What is begun here is begun where nothing is."""

from __future__ import annotations

import pytest

from tests.shared.cli.terminal import Terminal


@pytest.fixture
def at(bare: Terminal) -> Terminal:
    """A terminal in an empty folder, whose first command makes the store."""
    return bare
