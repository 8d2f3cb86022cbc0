"""What a person's role lets them do on the command line: every command."""

from __future__ import annotations

import pytest

from minions_evals_mcp.cli.access import access_of, needs_of
from minions_evals_mcp.domain.speaker import ROLES, Role
from tests.reference.pages import every_command
from tests.seals.doors import OF_COMMANDS
from tests.shared.cli.terminal import Ended, Terminal

FURTHER: dict[str, tuple[str, ...]] = {
    "watch": ("b", "cells.yaml"),
    "prompt use": ("v2",),
    "eval": ("cells.yaml",),
    "forget": ("--subject", "Zq7xinput3", "--yes"),
    "people add": ("ben",),
    "people assign": ("run-human", "--to", "anna"),
    "people role": ("anna", "editor"),
    "people remove": ("anna",),
    "people list": (),
}
"""Arguments of commands that the doors of sealed cases do not ask."""
ALONE = frozenset({"demo", "view", "live", "world check", "world serve"})
"""Commands with a store of their own, or that go on until they are interrupted; those of a world end before a store is open."""
CONFIG = "prompts: [one]\nproviders: [echo]\ntests:\n  - assert: [{type: contains, value: one}]\n"


def lines(needs: tuple[Role, ...]) -> list[list[str]]:
    """A command line for each command that uses the store and needs one of those roles."""
    return [
        [*command.split(), *(FURTHER[command] if command in FURTHER else OF_COMMANDS[command][0])]
        for command in every_command()
        if needs_of(command) in needs and access_of(command).store and command not in ALONE and command != "db salvage"
    ]


def asked_by(at: Terminal, role: Role, *commands: list[str]) -> list[Ended]:
    """What a person of that role is answered to each command, in a store that knows nothing else."""
    at.file(
        "answers.json",
        {"runId": "run-caller", "judgedBy": "x", "packets": [{"digest": "d"}]},
    )
    at.file("exported.jsonl", "")
    at.file("cells.yaml", CONFIG)
    token = str(at.run("people", "add", "anna", "--role", role, "--json").one()["token"])
    return at.with_env(MINIONS_EVALS_PERSON_TOKEN=token).asked(*commands)


@pytest.mark.parametrize("role", ["viewer", "judge"])
def test_a_command_that_needs_more_than_a_persons_role_is_refused(at: Terminal, role: Role) -> None:
    above = lines(ROLES[ROLES.index(role) + 1 :])
    for line, ended in zip(above, asked_by(at, role, *above), strict=True):
        assert ended.code == 2, (line, ended)
        assert f"anna is a {role} in this store" in ended.err + ended.out, (line, ended)
        assert "minions-evals people role anna" in ended.err + ended.out, line


def test_a_viewer_uses_every_command_that_only_reads(at: Terminal) -> None:
    reading = lines(("viewer",))
    for line, ended in zip(reading, asked_by(at, "viewer", *reading), strict=True):
        assert "in this store, and this needs" not in ended.err + ended.out, line


def test_a_token_of_another_store_changes_nothing(at: Terminal) -> None:
    """One terminal serves several projects, and a token is of one of them."""
    stranger = at.with_env(MINIONS_EVALS_PERSON_TOKEN="of-another-store")
    assert stranger.run("people", "add", "ben").code == 0
