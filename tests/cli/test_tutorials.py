"""Each tutorial can be followed as it stands: its files are written, its commands typed, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.blocks import blocks, script
from tests.shared.cli.installed import installed
from tests.shared.cli.terminal import ROOT, Terminal, inherited

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
SAID = {
    "assistant-user": ["regressed", "written to support.html"],
    "platform-owner": ["desk", "2 of 2 passed", "anna", "copy.db", "ok"],
    "prompt-engineer": ["not significant", "statistically significant", "written to replies.html"],
    "python-engineer": ["3 of 3 passed", "2 of 3 passed", "2 passed", "1 of 1 passed"],
}
"""What is seen on the way, in its order."""


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_can_be_followed_as_it_stands(tmp_path: Path, page: Path) -> None:
    with installed() as programs:
        place = Terminal(tmp_path).with_env(PATH=f"{programs}:{inherited()['PATH']}")
        ended = place.carried_out(
            ["sh", "-eu", "-c", script([step for step in blocks(page.read_text("utf-8")) if step.is_run])]
        )
    assert ended.code == 0, ended
    at = 0
    for words in SAID[page.stem]:
        at = ended.out.find(words, at)
        assert at >= 0, (words, ended)
