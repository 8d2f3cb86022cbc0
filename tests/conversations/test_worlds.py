"""The agents of the example worlds, now in conversation: the sound one passes, each wrong one fails at the check that is about it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.shared.cli.terminal import Terminal
from tests.workshop import place_store
from tests.world.test_example_worlds import FOLDER, SUITES, WRONG, run, shares

TALKING = """
import desk_agent

def talking(name):
    script = desk_agent.agent(name)

    def answer(message, session, world):
        if "asked" not in session:
            session["asked"] = message
            return "Shall I do that for you?"
        return script({"world": world.record.id, "task": session["asked"]}, world)

    return answer

for name in desk_agent.SCRIPTS["shop"]:
    globals()[name.replace("-", "_")] = talking(name)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A terminal with the example worlds, whose tasks are asked for in conversations."""
    folder = tmp_path_factory.mktemp("talking") / "agent-worlds"
    shutil.copytree(FOLDER, folder)
    place_store(folder)
    for suite in SUITES:
        _talk(folder / suite)
    (folder / "talking.py").write_text(TALKING, "utf-8")
    at = Terminal(folder)
    assert at.run("import", *SUITES).code == 0
    return at


def _talk(path: Path) -> None:
    """Makes the cases of a suite conversations: the task is the opening, and the user agrees."""
    document = yaml.safe_load(path.read_text("utf-8"))
    for record in document["records"]:
        if record["type"] == "test-case":
            opening = record["fields"]["inputs"]["task"]
            record["fields"]["conversation"] = {
                "opening": opening,
                "turns": [{"when": "shall i", "say": "Yes, please."}],
            }
    path.write_text(yaml.safe_dump(document), "utf-8")


@pytest.mark.parametrize("agent", ["sound", *sorted(WRONG)])
def test_the_verdicts_are_those_without_a_conversation(place: Terminal, agent: str) -> None:
    ended = run(place, f"python:talking:{agent.replace('-', '_')}")
    benchmark = ended["benchmarkRun"]
    assert isinstance(benchmark, dict)
    assert (benchmark["passedCount"], benchmark["totalCount"]) == (4 if agent == "sound" else 0, 4)
    if agent != "sound":
        assert shares(place, str(ended["runId"]))[WRONG[agent]] == 0
