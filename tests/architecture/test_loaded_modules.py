"""What the command line loads for one recorded case: nothing of what it does not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
records:
  - {id: c, type: test-case, fields: {name: c, inputs: {q: hi}, assertions: [{type: icontains, value: dear}]}}
  - {id: a, type: agent-run, fields: {agentId: desk, inputs: {q: hi}, outputs: {output: dear you}}}
"""
LOADED = """
import sys
from minions_evals_mcp.cli.entry import evals
sys.argv = ["minions-evals", *sys.argv[1:]]
try:
    evals()
except SystemExit as ended:
    assert not ended.code, ended.code
print("loaded:", *(name for name in sys.modules if name.startswith("minions_evals_mcp")))
"""
MOST = 340
"""Measured: 334."""
UNUSED = (
    "engine.conclude.benchmark_run", "engine.conclude.comparison", "engine.discovery", "engine.lift", "interop.log_formats",
    "interop.suite", "judges.grading", "judges.llm", "scoring.assertions.declining", "scoring.assertions.kinds.markup",
    "scoring.nunjucks", "server", "sessions", "view", "world",
)  # fmt: skip


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "suite.yaml").write_text(SUITE, "utf-8")
    _evals(folder, "import", "suite.yaml", "--db", "s.db")
    told = _evals(folder, "run", "c", "--db", "s.db").splitlines()[-1]
    assert told.startswith("loaded: ")
    return {name.removeprefix("minions_evals_mcp.") for name in told.split()[1:]}


def _evals(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-c", LOADED, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_recorded_case_loads_few_modules(loaded: set[str]) -> None:
    assert len(loaded) <= MOST


@pytest.mark.parametrize("unused", UNUSED)
def test_what_a_recorded_case_does_not_use_is_not_loaded(loaded: set[str], unused: str) -> None:
    assert not [name for name in loaded if name == unused or name.startswith(f"{unused}.")]
