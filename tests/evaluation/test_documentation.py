"""The page for Python engineers: its program runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from tests.hang import HANG_S
from tests.shared.cli.standby import STANDBYS, Asked
from tests.shared.cli.terminal import Terminal

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "evaluate-python.md"


def test_the_readme_shows_the_same_program() -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert shown == re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[:1]


def test_the_program_on_the_page_runs_and_tells_its_verdict(tmp_path: Path) -> None:
    program = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
    at = Terminal(tmp_path)
    asked = Asked([at.file("program.py", program)], str(tmp_path), at.environment, "python")
    _, out, err = STANDBYS.carried_out(asked, b"", HANG_S)
    assert err.endswith(b"AssertionError\n")  # the second case fails
    assert b"1 of 2 passed" in out
    assert b"capitals: failed; the first run of this name" in out
    assert b"Next: minions-evals" in out
