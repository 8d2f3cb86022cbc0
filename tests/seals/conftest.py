"""The store of the story, made once."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.seals.story import story


@pytest.fixture(scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store with its seal, to be copied."""
    folder = tmp_path_factory.mktemp("sealed")
    anyio.run(story, folder)
    return folder / "evals.db"
