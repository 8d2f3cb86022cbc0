"""Help at the width of a terminal: prose flows, and an example can be copied as it stands."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.cli.commands import COMMANDS, DB_COMMANDS, NOUNS, SHOWN
from minions_evals_mcp.cli.helping import described
from tests.shared.cli.terminal import Terminal

EVERY = [*([name] for name in COMMANDS), *(["db", name] for name in DB_COMMANDS)]
WORDS = st.lists(st.from_regex(r"\A(--?[a-z]{1,9}|[a-z/@.]{1,30})\Z"), min_size=1, max_size=20)


def examples(told: str) -> list[list[str]]:
    """The words that a shell makes of each example."""
    block = told.partition("Example:")[2].partition("\n\n")[0].replace("\\\n", " ")
    return [shlex.split(line) for line in re.split(r"\n?Example:|\n", block) if line.strip()]


@given(WORDS, st.integers(20, 120))
def test_a_shell_makes_the_same_words_of_an_example_at_any_width(words: list[str], width: int) -> None:
    command = " ".join(words)
    told = list(described(f"Do it.\n\nFirst this\nand then.\nExample: {command}", width))
    assert told[:3] == ["Do it.", "", "First this and then."]
    assert examples("\n".join(told)) == [words]
    longest = max(len(part) for part in re.split(r" (?=-)", command))
    assert all(len(line) <= max(width, longest + 8) for line in told)


def test_prose_is_filled_and_a_long_word_is_left_whole() -> None:
    assert list(described("One two\nthree " + "x" * 30 + " four", 16)) == ["One two three", "x" * 30, "four"]


def test_every_command_has_an_example_that_is_its_own_and_no_line_breaks_where_it_must_not(at: Terminal) -> None:
    there = at.with_env(COLUMNS="80")
    for command, found in zip(EVERY, there.asked(*([*one, "--help"] for one in EVERY)), strict=True):
        assert found.code == 0, (command, found)
        told = examples(found.out)
        assert told, command
        for words in told:
            after = words[words.index("minions-evals") + 1 :]
            assert after[: len(command)] == command, words
        for line in found.out.split("╭")[0].splitlines():
            assert len(line) <= 80 or "{" in line, line


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_commands_stand_on_one_screen_and_every_other_one_is_under_a_noun(at: Terminal, columns: str) -> None:
    said = at.with_env(COLUMNS=columns).run("--help").out
    assert len(said.splitlines()) <= 40
    assert max(map(len, said.splitlines())) <= int(columns)
    shown = [name for names in SHOWN.values() for name in names]
    assert len(shown) <= 26
    assert len(SHOWN) == 6
    assert all(f"  {name} " in said for name in shown)
    assert "…" not in said
    under = {verb for _, verbs in NOUNS.values() for verb in verbs}
    assert {*COMMANDS} - {*shown} - under == {"run-benchmark", "run-test-case"}  # `run` is both
    assert {*shown} - {*COMMANDS} == {*NOUNS}


def test_what_stands_under_a_noun_is_the_same_command(at: Terminal) -> None:
    own, under, *nouns = at.with_env(COLUMNS="80").many(
        ["stats", "--help"], ["data", "stats", "--help"], *([noun, "--help"] for noun in NOUNS)
    )
    assert own.out.partition("\n")[2] == under.out.partition("\n")[2]
    for noun in nouns:
        assert "…" not in noun.out
        assert max(map(len, noun.out.splitlines())) <= 80
