"""Every example runs as it stands, in a copy of its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.shared.cli.installed import installed
from tests.shared.cli.terminal import ROOT, Terminal, inherited

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/run.sh"))
SHOWN = {
    "agent-worlds": "hijacked in 0 of 168 units",
    "conversation": "✓ passed  refund-talk",
    "own-application": "2 of 2",
    "promptfoo-config": "2 of 2",
    "pytest-project": "2 passed",
    "python-function": "2 of 2 passed",
    "recorded-runs": "desk@2",
}
"""What the last lines of each say."""


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_runs_as_it_stands(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder, tmp_path / folder.name)
    with installed() as programs:
        place = Terminal(tmp_path / folder.name).with_env(PATH=f"{programs}:{inherited()['PATH']}")
        ended = place.carried_out(["sh", "run.sh"])
    assert ended.code == 0, ended
    assert SHOWN[folder.name] in f"{ended.out}{ended.err}", ended


def test_the_page_of_examples_names_each() -> None:
    listed = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert [folder.name for folder in EXAMPLES if f"({folder.name})" not in listed] == []
