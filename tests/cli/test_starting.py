"""`init`: a suite to start from."""

from __future__ import annotations

import shlex

from tests.cli.terminal import Terminal


def test_what_init_writes_runs_at_once_by_the_commands_that_it_says(at: Terminal) -> None:
    made = at.run("init", "my evals")
    assert made.code == 0
    commands = [shlex.split(line)[1:] for line in made.out.splitlines()[1:]]
    taken, ran = at.many(*commands)
    assert taken.out.endswith("18 new, 0 changed, 0 unchanged\n")
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
    assert again.one()["file"] == "new/evals.yaml"
    assert told.error()["code"] == "bad-input"
