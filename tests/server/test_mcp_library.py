"""The MCP library: everything but the server works with an older one, or with none, and the server says which it needs."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from agent.integrations.neighbours import open_neighbours
from agent.integrations.neighbours_file import NeighboursFile
from minions_evals_mcp import mcp_version
from minions_evals_mcp.errors import BadInputError

ROOT = Path(__file__).parents[2]
OLD = """
from importlib.abc import MetaPathFinder
import sys

class No(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"mcp", "mcp_types"}:
            raise ImportError(f"{name} is not for this program")

sys.meta_path.insert(0, No())
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder that comes first on the path: its `mcp` is 1.30, and cannot be imported at all."""
    info = tmp_path / "old" / "mcp-1.30.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 1.30.0\n", "utf-8")
    (info.parent / "sitecustomize.py").write_text(OLD, "utf-8")
    return info.parent


def installing(version: str) -> Callable[[str], str]:
    """What says that this version of any package is installed."""

    def installed(_: str) -> str:
        return version

    return installed


async def ended(folder: Path, *command: str) -> tuple[int, str, str]:
    environment = {
        "HOME": str(folder),
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))),
    }
    done = await anyio.run_process(command, check=False, env=environment, cwd=folder)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


EVALUATED = """
from minions_evals_mcp import evaluate

def answered(question: str) -> str:
    return "hello"

found = evaluate(answered, [{"inputs": {"question": "hi"}, "expected": "hello"}], store="e.db")
import minions_evals_mcp.api, minions_evals_mcp.pytest_plugin, agent.__main__
print("evaluated")
"""


async def test_evaluate_the_command_line_and_the_agent_need_no_mcp(old: Path) -> None:
    (old / "go.py").write_text(EVALUATED, "utf-8")
    code, out, err = await ended(old, sys.executable, "go.py")
    assert (code, out.splitlines()[-1:]) == (0, ["evaluated"]), err
    for program, *arguments in (("minions_evals_mcp.cli", "demo", "--db", "demo.db"), ("agent", "--help")):
        code, _, err = await ended(old, sys.executable, "-m", program, *arguments)
        assert code == 0, err


async def test_the_server_refuses_an_older_library_with_the_remedy_and_the_doctor_says_so(old: Path) -> None:
    start = "from minions_evals_mcp.server.entry import server; server()"
    code, out, err = await ended(old, sys.executable, "-c", start)
    assert (code, out) == (2, "")
    assert err == (
        "minions-evals-mcp: MCP needs the package mcp 2.3 or newer; installed is mcp 1.30.0."
        " Install it with: pip install -U 'minions-evals-mcp[server]'\n"
    )
    code, out, err = await ended(old, sys.executable, "-m", "minions_evals_mcp.cli", "doctor")
    assert code == 0, err
    assert "– MCP server: MCP needs the package mcp 2.3 or newer; installed is mcp 1.30.0." in out


async def test_a_neighbour_that_is_asked_over_mcp_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_version, "version", installing("1.30.0"))
    file = NeighboursFile.model_validate({"servers": {"one": {"run": ["true"]}}})
    with pytest.raises(BadInputError, match=r"installed is mcp 1\.30\.0") as caught:
        async with open_neighbours(file, secrets={}, folder=tmp_path, otherwise=lambda _: None):
            pass
    assert "minions-evals-mcp[server]" in caught.value.remedy


@pytest.mark.parametrize(
    ("installed", "is_old"), [("1.30.0", True), ("2.2.9", True), ("2.3.0", False), ("2.10", False), ("3.0b1", False)]
)
def test_what_is_too_old(monkeypatch: pytest.MonkeyPatch, installed: str, is_old: bool) -> None:
    monkeypatch.setattr(mcp_version, "version", installing(installed))
    assert bool(mcp_version.mcp_problem()) is is_old


def _project() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def test_the_base_takes_either_library_and_the_extra_the_new_one() -> None:
    wanted = {extra: [one for one in packages if re.match(r"mcp\b", one)] for extra, packages in _project().items()}
    assert wanted[""] == ["mcp>=1,<3"]
    assert wanted["server"] == [f"mcp>={mcp_version.LEAST[0]}.{mcp_version.LEAST[1]},<3"]
