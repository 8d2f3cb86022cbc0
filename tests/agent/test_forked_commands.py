"""What the tests' desk forks from a process on standby ends as the agent's command started anew does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.hang import HANG_S
from tests.shared.agent.desk import AGENT, DAEMON, Desk
from tests.shared.agent.story import case, rubrics
from tests.shared.store.command_line import ROOT


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["status", "--json"], ""),
        (["drain", "--stdin"], "no JSON\n"),
        (["drain", "--instructions", "nowhere"], ""),
    ],
)
def test_a_forked_command_says_and_ends_as_a_started_one(tmp_path: Path, arguments: list[str], stdin: str) -> None:
    desk = Desk(tmp_path)
    desk.imported(*rubrics(), case("c"))
    started = subprocess.run(
        [*DAEMON, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
        cwd=desk.folder,
        env={**desk.environment(), "PYTHONPATH": str(ROOT)},
    )
    forked = desk.ran(AGENT, *arguments, stdin=stdin)
    assert (forked.code, forked.out) == (started.returncode, started.stdout)
    assert logged(forked.err) == logged(started.stderr)


def logged(text: str) -> list[str]:
    """The lines, of logged ones the event alone: the rest holds times and ids."""
    return [json.loads(line)["event"] if line.startswith("{") else line for line in text.splitlines()]
