"""Shared by the server's tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.shared.server.hosts import ERAS, Host, hosted
from tests.workshop import config_in


@pytest.fixture(params=ERAS)
async def host(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Host]:
    """A host on an empty store; each test runs once in each era of the protocol."""
    async with hosted(config_in(tmp_path), era=request.param) as found:
        yield found
