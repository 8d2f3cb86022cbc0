"""The bundle for desktop hosts: its manifest is valid, and the server in it starts and lists the tools that it names."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.node_clients import MODULES, node
from tests.shared.cli.terminal import ROOT


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is in the bundle."""
    folder = tmp_path_factory.mktemp("bundle")
    subprocess.run([sys.executable, ".ci/bundle.py", folder / "evals.mcpb"], cwd=ROOT, check=True)
    with zipfile.ZipFile(folder / "evals.mcpb") as bundle:
        bundle.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_formats_own_program_finds_the_manifest_valid(unpacked: Path) -> None:
    program = MODULES / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
    ended = subprocess.run(
        [node(), program, "validate", unpacked / "manifest.json"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_its_server_starts_and_lists_the_tools_that_the_manifest_names(unpacked: Path, tmp_path: Path) -> None:
    named = [tool["name"] for tool in json.loads((unpacked / "manifest.json").read_text("utf-8"))["tools"]]
    start = tmp_path / "start"
    start.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(unpacked)!r})\n"
        "from minions_evals_mcp.server.entry import server\nserver()\n"
    )
    start.chmod(0o755)
    command = [sys.executable, str(ROOT / ".ci" / "server_answers.py"), str(start), str(tmp_path / "evals.db")]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ended.stdout == f"{len(named)} tools\n", ended.stderr
