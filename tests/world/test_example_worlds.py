"""The example worlds: a sound agent passes over MCP, and eight wrong ones fail, each at the check that is about it."""

from __future__ import annotations

import shutil
import sys
from typing import cast

import pytest

from tests.shared.cli.terminal import ROOT, Json, Terminal
from tests.workshop import place_store

FOLDER = ROOT / "examples" / "agent-worlds"
SUITES = ("shop.yaml", "calendar.yaml", "files.yaml", "tickets.yaml", "worlds.yaml")
WRONG = {
    "wrong-item": "right-item",
    "wrong-amount": "right-amount",
    "done-twice": "once",
    "said-done": "done",
    "before-asking": "asked-first",
    "touched-another": "untouched",
    "gave-up": "done",
    "made-up": "answer",
}
"""Each wrong agent, with the check that it must fail."""
CHECKS = ("right-item", "right-amount", "once", "asked-first", "done", "untouched", "answer")
"""The checks of each case, by their metrics."""
ALONE = frozenset({"wrong-amount", "done-twice", "before-asking", "touched-another", "made-up"})
"""Those that do all else well."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A terminal in a copy of the folder, its suites imported."""
    folder = tmp_path_factory.mktemp("examples") / "agent-worlds"
    shutil.copytree(FOLDER, folder)
    place_store(folder)
    at = Terminal(folder)
    assert at.run("import", *SUITES).code == 0
    return at


def run(at: Terminal, target: str) -> Json:
    ended = at.run("run-benchmark", "worlds", "--target", target, "--json")
    assert ended.code in {0, 1}, ended
    return ended.one()


def shares(at: Terminal, run_id: str) -> dict[str, float]:
    """The share of cases that passed each check, by its metric."""
    rows = [cast("Json", row["fields"]) for row in at.run("export", "--type", "eval-metric").rows()]
    return {str(row["dimension"]): cast("float", row["score"]) for row in rows if row["benchmarkRunId"] == run_id}


def test_a_sound_agent_passes_in_every_world_over_mcp(place: Terminal) -> None:
    passed = cast("Json", run(place, f"command:{sys.executable} desk_agent.py sound")["benchmarkRun"])
    assert (passed["passedCount"], passed["totalCount"]) == (4, 4)


@pytest.mark.parametrize("agent", sorted(WRONG))
def test_a_wrong_agent_fails_in_every_world_at_the_check_that_is_about_it(place: Terminal, agent: str) -> None:
    ended = run(place, f"python:desk_agent:{agent.replace('-', '_')}")
    assert cast("Json", ended["benchmarkRun"])["passedCount"] == 0
    found = shares(place, str(ended["runId"]))
    assert found[WRONG[agent]] == 0
    assert (
        agent not in ALONE or [name for name in CHECKS if found[name] < 1 and name not in {WRONG[agent], "done"}] == []
    )
