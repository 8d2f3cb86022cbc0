"""A cluster for each test, in its own process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from minions_evals_mcp.cluster import crew
from tests.cluster.inside import Inside, inside
from tests.hang import HANG_S


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """A slow machine's cluster is waited for."""
    monkeypatch.setattr(crew, "ANSWER_S", HANG_S)
    monkeypatch.setattr(crew, "WORKER_S", HANG_S)


@pytest.fixture
async def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Inside]:
    """A scheduler without workers; those in this process note their calls."""
    async with inside(tmp_path) as there:
        for name, value in there.naps.environment.items():
            monkeypatch.setenv(name, value)
        yield there


@pytest.fixture
async def two_workers(scheduler: Inside) -> Inside:
    """The same with two workers in this process that have no keys."""
    await scheduler.hire(2)
    return scheduler
