"""The folder of a unit goes with its process: what a killed one left is removed at the next start, and a held one is not."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from minions_evals_mcp.sandbox.child_environment import child_environment
from minions_evals_mcp.world import unit_folders

HOLD = """
import sys
from minions_evals_mcp.world.unit_folders import unit_folder
folder, held = unit_folder()
print(folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of temporary folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    unit_folders.remove_left.cache_clear()  # it is done once for a process
    return tmp_path


def test_what_a_killed_process_left_is_removed_and_what_another_holds_is_not(home: Path) -> None:
    environment = child_environment() | {"TMPDIR": str(home)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        killed, kept = (Path(process.stdout.readline().strip()) for process in processes if process.stdout is not None)
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        strange = home / f"{unit_folders.PREFIX}link"
        strange.symlink_to(home / "elsewhere")
        remade = home / f"{unit_folders.PREFIX}remade"
        remade.mkdir()
        (remade / "lock").touch()
        assert killed.is_dir()
        mine, held = unit_folders.unit_folder()
        assert {*home.iterdir()} == {kept, mine, strange}
        held.release()
    finally:
        for process in processes:
            process.kill()
            process.communicate()
