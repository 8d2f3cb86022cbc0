"""What the tests of `evaluate` share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from minions_evals_mcp import evaluate
from tests.workshop import place_store


@pytest.fixture
def evaluated(tmp_path: Path) -> Any:
    """`evaluate` on a store of the test's, without progress."""
    return partial(evaluate, store=place_store(tmp_path), progress=False)
