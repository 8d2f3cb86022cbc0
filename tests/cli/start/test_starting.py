"""`init`: a suite to start from."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from tests.shared.cli.terminal import Terminal


@pytest.mark.parametrize(("own", "said"), [(False, ["run"]), (True, ["import", "run-benchmark"])])
def test_what_init_writes_runs_at_once_by_the_commands_that_it_says(
    at: Terminal, *, own: bool, said: list[str]
) -> None:
    """A project file of one's own is left as it is, and then each step is said."""
    if own:
        (at.folder / "my evals").mkdir()
        at.file("my evals/minions-evals.toml", 'suites = ["other.yaml"]\n')
    made = at.run("init", "my evals")
    assert made.code == 0
    goes, *commands = [shlex.split(line) for line in made.out.splitlines()[1:]]
    assert goes == ["cd", "my evals"]
    assert [command[1] for command in commands] == said
    *_, ran = replace(at, folder=at.folder / "my evals").many(*(command[1:] for command in commands))
    assert "starter/quality" in ran.out
    assert "3 of 4 passed" in ran.out
    assert "When do I have to leave?" in ran.out
    assert ran.code == 0


def test_every_command_in_the_suite_works_as_it_stands(at: Terminal) -> None:
    at.run("init")
    lines = (at.folder / "evals.yaml").read_text().splitlines()
    said = [shlex.split(line.removeprefix("#"))[1:] for line in lines if line.startswith("#   minions-evals")]
    commands = [one for one in said if one[0] != "watch" and "BENCHMARK" not in one]
    assert [one[0] for one in commands] == ["import", "run-benchmark", "compare"]
    assert [one.code for one in at.many(*commands, ["db", "check"])] == [0, 0, 0, 0]


def test_init_overwrites_nothing(at: Terminal) -> None:
    at.file("evals.yaml", "mine")
    at.file("taken", "a file")
    refused, elsewhere, again, told = at.many(
        ["init"], ["init", "taken"], ["init", "new", "--json"], ["init", "new", "--json"]
    )
    assert refused.code == elsewhere.code == told.code == 2
    assert "evals.yaml cannot be written: File exists" in refused.err
    assert (at.folder / "evals.yaml").read_text() == "mine"
    assert (at.folder / "taken").read_text() == "a file"
    assert again.one()["files"] == ["new/evals.yaml", "new/minions-evals.toml"]
    assert told.error()["code"] == "bad-input"
