"""The page for Python engineers: its program runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.hang import HANG_S
from tests.shared.cli.terminal import inherited

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"


def test_the_readme_shows_the_same_program() -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert shown == re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[:1]


def test_the_program_on_the_page_runs_and_tells_its_verdict(tmp_path: Path) -> None:
    program = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
    environment = {**inherited(), "MINIONS_EVALS_DB": str(tmp_path / "evals.db")}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=HANG_S
    )  # fmt: skip
    assert ended.stderr.endswith("AssertionError\n")  # the second case fails
    assert "1 of 2 passed" in ended.stdout
    assert "capitals: failed; the first run of this name" in ended.stdout
    assert "next: minions-evals" in ended.stdout
