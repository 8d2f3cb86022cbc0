"""promptfoo's everyday options of `eval`: taken as they are typed, or named with what to do instead."""

from __future__ import annotations

import json
import re

import pytest

from minions_evals_mcp.cli.command_lines import carried_out
from minions_evals_mcp.cli.commands import COMMANDS, NOUNS
from minions_evals_mcp.cli.other_tools import COMMANDS_OF_OTHERS
from minions_evals_mcp.errors import BadInputError
from tests.cli.run.test_configs import outputs, parts
from tests.shared.cli.terminal import Terminal

CONFIG = """
prompts: ["{{greeting}} {{word}}"]
providers: [echo]
defaultTest: {vars: {greeting: Hi}}
tests:
  - {description: a big one, vars: {word: ox}, assert: [{type: contains, value: ox}]}
  - {description: a small one, vars: {word: mite}, assert: [{type: contains, value: ox}]}
  - {description: another big one, vars: {word: elk}, assert: [{type: contains, value: elk}]}
"""


def words(told: object) -> list[object]:
    found = told.one()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]  an answer
    return [outputs(found, row)[0] for row in range(len(parts(found["rows"])))]  # pyright: ignore[reportUnknownArgumentType]


def test_tests_are_chosen_by_description_number_or_failure(at: Terminal) -> None:
    at.file("c.yaml", CONFIG)
    whole, big, first, small = at.many(
        ["eval", "c.yaml", "--json", "-o", "r.json"],
        ["eval", "c.yaml", "--json", "--filter-pattern", "big"],
        ["eval", "c.yaml", "--json", "--filter-first-n", "2"],
        ["eval", "c.yaml", "--json", "--filter-pattern", "huge"],
    )
    assert words(whole) == ["Hi ox", "Hi mite", "Hi elk"]
    assert words(big) == ["Hi ox", "Hi elk"]
    assert words(first) == ["Hi ox", "Hi mite"]
    assert small.code == 2
    assert "no test has a description that matches 'huge'" in str(small.error()["message"])
    benchmark_id = str(whole.one()["benchmarkId"])
    by_file, by_id = at.many(
        ["eval", "c.yaml", "--json", "--filter-failing", "r.json"],
        ["eval", "c.yaml", "--json", "--filter-failing", benchmark_id],
    )
    assert words(by_file) == words(by_id) == ["Hi mite"]


def test_variables_tests_trials_and_the_environment_come_from_the_command_line(at: Terminal) -> None:
    at.file("c.yaml", CONFIG)
    at.file("t.yaml", "- {vars: {word: emu}}\n- {vars: {word: gnu, greeting: Bye}}\n")
    at.file("e.yaml", 'prompts: ["{{env.PLACE}} {{word}}"]\nproviders: [echo]\ntests: [{vars: {word: here}}]\n')
    at.file("some.env", "PLACE=Rome\n")
    varied, listed, twice, placed, asked, wrong = at.many(
        ["eval", "c.yaml", "--json", "--var", "greeting=Hello", "-n", "1"],
        ["eval", "c.yaml", "--json", "-t", "t.yaml"],
        ["eval", "c.yaml", "--json", "--repeat", "2", "-n", "1", "-j", "1"],
        ["eval", "e.yaml", "--json", "--yes", "--env-file", "some.env"],
        ["eval", "c.yaml", "--json", "-p", "Say {{word}}", "-r", "echo", "-n", "1", "--grader", "openai:gpt"],
        ["eval", "c.yaml", "--var", "greeting"],
    )
    assert words(varied) == ["Hello ox"]
    assert words(listed) == ["Hi emu", "Bye gnu"]
    assert words(twice) == ["Hi ox", "Hi ox"]
    assert words(placed) == ["Rome here"]
    assert words(asked) == ["Say ox"]
    assert "--var: expected NAME=VALUE, got 'greeting'" in wrong.err


def test_verbose_shows_the_reason_of_every_check(at: Terminal) -> None:
    at.file("c.yaml", CONFIG)
    shown = at.run("eval", "c.yaml", "--verbose")
    assert "✓ contains 1.00: contains 'elk'" in shown.out
    assert "✗ contains 0.00: does not contain 'ox'" in shown.out
    assert "and the exit code is 0. Add --fail to exit with 1." in shown.err


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("--watch", "unchanged parts come from the cache"),
        ("--filter-providers", "--provider"),
        ("--filter-metadata", "--filter-pattern"),
        ("--share", "stay in the store on this machine"),
        ("--delay", "evaluateOptions"),
        ("--retry-errors", "resumes"),
        ("--no-table", "eval has no option --no-table.\n  Leave it out"),
    ],
)
def test_another_option_of_promptfoo_is_named_with_what_to_do(at: Terminal, option: str, instead: str) -> None:
    at.file("c.yaml", CONFIG)
    refused = at.run("eval", "c.yaml", option)
    assert refused.code == 2
    assert instead in refused.err


def test_a_file_that_is_no_results_file_is_refused(at: Terminal) -> None:
    at.file("c.yaml", CONFIG)
    at.file("r.json", json.dumps({"a": 1}))
    assert "is no results file" in at.run("eval", "c.yaml", "--filter-failing", "r.json").err


@pytest.mark.parametrize("words", COMMANDS_OF_OTHERS)
def test_a_command_of_another_tool_is_answered_with_a_command_of_ours(words: str) -> None:
    with pytest.raises(BadInputError, match=f"there is no command '{words}'") as refused:
        carried_out([*words.split(), "latest"])
    named = [line.split()[0] for line in re.findall("`([^`]+)`", refused.value.remedy)]
    assert {name for name in named if name not in {"evals", "python"}} <= {*COMMANDS, *NOUNS}
    assert named
