"""What the tests of `evaluate` share."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from minions_evals_mcp import evaluate
from tests.shared.fakes.llm_server import FakeSettings, Server, serving
from tests.workshop import place_store


@pytest.fixture
def evaluated(tmp_path: Path) -> Any:
    """`evaluate` on a store of the test's, without progress."""
    return partial(evaluate, store=place_store(tmp_path), progress=False)


@pytest.fixture
def server() -> Generator[Server]:
    """A model on loopback, on a loop in a thread of its own."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(FakeSettings(latency_ms=5))) as fake,
    ):
        yield fake
