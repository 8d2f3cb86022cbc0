"""The pytest plugin: the fixture `evals`, and suites named `*.evals.yaml` of which each case is a test.

It imports nothing of the engine until a test asks for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from minions_evals_mcp.pytest_plugin.fixture import Evals
    from minions_evals_mcp.pytest_plugin.suites import SuiteOfCases

SUITES = (".evals.yaml", ".evals.yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings of the plugin in pytest's own configuration file."""
    parser.addini("evals_target", "what makes outputs where none is recorded, as --target of minions-evals", default="")
    parser.addini("evals_judge", "who judges: auto (default), heuristic or llm", default="auto")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteOfCases | None:
    """A suite whose name says that its cases are tests."""
    if not file_path.name.endswith(SUITES):
        return None
    from minions_evals_mcp.pytest_plugin.suites import SuiteOfCases  # noqa: PLC0415  the engine is imported for a suite only

    return SuiteOfCases.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]  pytest leaves the arguments open


@pytest.fixture
def evals(tmp_path: Path) -> Evals:
    """Checks outputs and runs benchmarks from a test, sync or async."""
    from minions_evals_mcp.pytest_plugin.fixture import Evals  # noqa: PLC0415  the engine is imported for a test that asks

    return Evals(tmp_path)
