"""One cluster for the tests of a process."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from minions_evals_mcp.cluster import crew
from tests.cluster.crowd import LONGEST_S, Crowd, crowd


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """A slow machine's cluster is waited for."""
    monkeypatch.setattr(crew, "ANSWER_S", LONGEST_S)
    monkeypatch.setattr(crew, "WORKER_S", LONGEST_S)


@pytest.fixture(scope="session")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Generator[Crowd]:
    """A scheduler with two workers that have no keys."""
    with crowd(tmp_path_factory.mktemp("crowd"), 2) as there:
        yield there
