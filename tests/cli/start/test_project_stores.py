"""Each project has a store of its own where nobody names one; outside a project it is the user's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minions_evals_mcp.configured import db_path
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.options import store_path as server_store
from minions_evals_mcp.settings import read_settings, settings_here
from tests.shared.cli.terminal import Terminal

CONFIG = 'prompts: ["Say {{word}}"]\nproviders: [echo]\ntests: [{vars: {word: %s}, assert: [{type: contains, value: cat}]}]\n'
SCRIPT = """
from minions_evals_mcp import Case, evaluate

def answer(n):
    return ANSWER

print(evaluate(answer, [Case({"n": 1}, expected="Paris")], checks=["icontains"], name="capitals", progress=False))
"""


def project(at: Terminal, name: str, marker: str = ".git") -> Terminal:
    """A terminal in a folder of that name, at home somewhere else, that names no store."""
    folder = at.folder / name
    folder.mkdir()
    home = at.folder / "home"
    home.mkdir(exist_ok=True)
    if marker == ".git":
        (folder / marker).mkdir()
    elif marker:
        (folder / marker).write_text("trials = 1\n")
    return Terminal(folder, {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "MINIONS_EVALS_DB": ""})


@pytest.mark.parametrize("marker", [".git", "minions-evals.toml"])
def test_a_project_keeps_its_runs_in_a_folder_that_git_ignores(at: Terminal, marker: str) -> None:
    here = project(at, "shop", marker)
    here.file("c.yaml", CONFIG % "cat")
    ran = here.run("eval", "c.yaml")
    assert ran.code == 0, ran.err
    assert "Created a new store at .minions-evals/evals.db" in ran.err
    assert "data/minions-evals" not in ran.err
    assert (here.folder / ".minions-evals" / "evals.db").exists()
    assert (here.folder / ".minions-evals" / ".gitignore").read_text().splitlines()[-1] == "*"
    (here.folder / "deep").mkdir()
    deeper = Terminal(here.folder / "deep", here.extra)
    assert "c.yaml" in deeper.run("runs").out


def test_two_projects_are_not_compared_with_each_other(at: Terminal) -> None:
    first, second = project(at, "one"), project(at, "two")
    for here, said in ((first, "Paris"), (second, "Rome")):
        here.file("s.py", SCRIPT.replace("ANSWER", repr(said)))
        told = here.carried_out([sys.executable, "s.py"])
        assert "the first run of this name" in told.out, told.err
        assert "regression" not in told.out
        assert str(here.folder / ".minions-evals") in told.out


def test_where_earlier_runs_are_is_said_once(at: Terminal) -> None:
    outside = project(at, "outside", "")
    outside.file("c.yaml", CONFIG % "cat")
    made = outside.run("eval", "c.yaml")
    assert "data/minions-evals/evals.db" in made.err
    here = project(at, "shop")
    here.file("c.yaml", CONFIG % "dog")
    missing = here.run("runs")
    assert missing.code == 3
    assert "Earlier runs are in ~/data/minions-evals/evals.db" in missing.err
    first, again = here.run("eval", "c.yaml"), here.run("eval", "c.yaml", "--no-cache")
    assert "Earlier runs of all your projects are in ~/data/minions-evals/evals.db" in first.err
    assert "from before" not in again.err


def test_the_server_and_the_agent_find_the_store_that_the_command_line_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MINIONS_EVALS_DB", raising=False)
    for name, named in (("plain", None), ("named", "own.db")):
        folder = tmp_path / name / "deep"
        folder.mkdir(parents=True)
        (tmp_path / name / ".git").mkdir()
        if named:
            (tmp_path / name / "minions-evals.toml").write_text(f'store = "{named}"\n')
        monkeypatch.chdir(folder)
        expected = tmp_path / name / (named or ".minions-evals/evals.db")
        assert db_path(None, settings_here()) == expected
        assert server_store(ServerOptions(), read_settings()) == expected
        assert db_path(None, read_settings()) == expected, "the agent's"
