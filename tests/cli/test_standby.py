"""What the tests' terminal forks from a process on standby ends as a command started anew does."""

from __future__ import annotations

import json

import pytest

from tests.shared.cli.terminal import CLI, Terminal

ROW = json.dumps({"output": "green", "assert": [{"type": "contains", "value": "green"}]})


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["list", "test-case", "--limit", "3"], ""),
        (["show", "nobody", "--json"], ""),
        (["score", "-"], ROW),
    ],
)
def test_a_forked_command_says_and_ends_as_a_started_one(shop: Terminal, arguments: list[str], stdin: str) -> None:
    assert shop.run(*arguments, stdin=stdin) == shop.carried_out([*CLI, *arguments], stdin)


def test_each_forked_command_sees_its_own_environment_and_folder_only(at: Terminal, shop: Terminal) -> None:
    assert at.run("db", "path").out == f"{at.db}\n"
    assert shop.run("db", "path").out == f"{shop.db}\n"
    assert at.run("import", at.file("none.json", {"minions": []}), "--db", "here.db").code == 0
    assert (at.folder / "here.db").exists()
