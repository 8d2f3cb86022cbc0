"""A temporary folder goes with its process: what a killed one left is removed at the next start, and a held one is not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import get_args

import pytest

from minions_evals_mcp import temporary_folders
from minions_evals_mcp.sandbox.child_environment import child_environment

HOLD = """
import sys
from minions_evals_mcp.temporary_folders import temporary_folder
with temporary_folder(sys.argv[1]) as folder:
    print(folder.parent, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of temporary folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    temporary_folders.remove_left.cache_clear()  # it is done once for a process
    return tmp_path


@pytest.mark.parametrize("purpose", get_args(temporary_folders.Purpose))
def test_what_a_killed_process_left_is_removed_and_what_another_holds_is_not(home: Path, purpose: str) -> None:
    environment = child_environment() | {"TMPDIR": str(home)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD, purpose],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        killed, kept = (Path(process.stdout.readline().strip()) for process in processes if process.stdout is not None)
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        strange = home / "minions-evals-world-1-abcd_123"
        strange.symlink_to(home / "elsewhere")
        remade = home / "minions-evals-world-1-remade12"
        remade.mkdir()
        (remade / "lock").touch()
        of_the_user = home / "minions-evals-world-notes"
        of_the_user.mkdir()
        assert killed.is_dir()
        mine, held = temporary_folders.taken_folder("world")
        assert {*home.iterdir()} == {kept, mine, strange, of_the_user}
        held.release()
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_where_a_held_folder_cannot_be_renamed_it_is_removed_a_day_after_its_process(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as there:
        there.setattr(sys, "platform", "win32")
        folder, held = temporary_folders.taken_folder("world")
    for seconds, is_held, is_kept in ((0, True, True), (90_000, True, True), (0, False, True), (90_000, False, False)):
        if not is_held:
            held.release()
        age = time.time() - seconds
        os.utime(folder, (age, age))
        temporary_folders.remove_left.cache_clear()
        temporary_folders.remove_left()
        assert folder.exists() is is_kept, (seconds, is_held)
    assert [*home.iterdir()] == []


def test_every_temporary_folder_of_the_product_is_made_there() -> None:
    root = Path(__file__).parents[1]
    made = [
        file.name
        for part in ("minions_evals_mcp", "agent")
        for file in (root / part).rglob("*.py")
        if {"mkdtemp", "TemporaryDirectory"} & {*re.findall(r"\w+", file.read_text("utf-8"))}
    ]
    assert made == ["temporary_folders.py"]
