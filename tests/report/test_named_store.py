"""The store in the commands that an answer names."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.cli.commands import NOUNS
from minions_evals_mcp.report.named_store import in_store, named_store

STORE = Path("my evals.db")


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("`minions-evals runs` lists them.", "`minions-evals runs --db 'my evals.db'` lists them."),
        ("minions-evals people add NAME", "minions-evals people add --db 'my evals.db' NAME"),
        (
            "`minions-evals doctor` or minions-evals diff A B",
            "`minions-evals doctor --db 'my evals.db'` or minions-evals diff --db 'my evals.db' A B",
        ),
    ],
)
def test_each_command_names_the_store_behind_its_verb(text: str, typed: str) -> None:
    assert in_store(text, STORE) == typed
    assert in_store(text, None) == text


@pytest.mark.parametrize(("noun", "verb"), [(noun, verb) for noun, (_, verbs) in NOUNS.items() for verb in verbs])
def test_the_store_stands_behind_the_verb_of_every_noun(noun: str, verb: str) -> None:
    assert in_store(f"minions-evals {noun} {verb} X", STORE) == f"minions-evals {noun} {verb} --db 'my evals.db' X"


@pytest.mark.parametrize(
    "text",
    [
        "Try minions-evals demo, or start your own with minions-evals init.",
        "minions-evals submit --help shows the form.",
        "minions-evals run-benchmark --help shows the form.",
        "minions-evals prompt use --help shows the form.",
        "minions-evals classify RUN --db other.db",
        "minions-evals-mcp --http serves it",
    ],
)
def test_what_takes_no_store_or_names_one_stays_as_it_is(text: str) -> None:
    assert in_store(text, STORE) == text


def test_the_last_store_that_a_command_line_names_is_meant() -> None:
    assert named_store(["runs", "--db", "a.db", "--db=b.db"]) == Path("a.db")
    assert named_store(["runs", "--limit", "3"]) is None
