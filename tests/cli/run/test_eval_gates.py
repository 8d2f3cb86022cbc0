"""The gates of `eval`: each column beside the last evaluation, a branch's or a run's."""

from __future__ import annotations

from tests.cli.run.test_configs import parts
from tests.shared.cli.terminal import Terminal

ANSWERS = """
def call_api(prompt, options, context):
    return {"output": "good" if int(prompt.split()[-1]) %s else "bad"}
"""
CONFIG = """
description: numbers
prompts: ["Say {{n}}"]
providers: [file://answers.py]
tests: [%s]
"""


def config(at: Terminal, good: str, tests: int = 12) -> None:
    at.file("answers.py", ANSWERS % good)
    at.file(
        "c.yaml",
        CONFIG % ", ".join(f"{{vars: {{n: {n}}}, assert: [{{type: equals, value: good}}]}}" for n in range(tests)),
    )


def test_a_column_that_passes_fewer_tests_than_before_fails_the_command_that_ran_it(at: Terminal) -> None:
    at = at.with_env(GITHUB_REF_NAME="main")
    config(at, ">= 0")
    gated = ("eval", "c.yaml", "--yes", "--fail-on-regression")
    first = at.run(*gated)
    assert first.code == 0, first.err
    assert "No earlier evaluation of this config" in first.err
    of_main = parts(at.run("runs", "--json").one()["runs"])[0]
    config(at, ">= 8")
    fallen = at.run(*gated)
    assert fallen.code == 1, fallen.err
    assert "passes fewer tests than run" in fallen.err
    assert "12 → 4 of 12 passed (8 newly failing, 0 newly passing)" in fallen.err
    config(at, ">= 9", tests=14)
    on_branch = at.with_env(GITHUB_REF_NAME="feature")
    last, main = on_branch.many([*gated], [*gated, "--baseline", "main"])
    assert last.code == 0, "one test less than the evaluation before is chance"
    assert main.code == 0, "the newest evaluation of main is the fallen one"
    by_run = on_branch.run(*gated, "--baseline", str(of_main["runId"]))
    assert by_run.code == 1, by_run.err
    assert "12 → 3 of 12 passed" in by_run.err, "on the tests that both have"
    nobody = on_branch.run(*gated, "--baseline", "nowhere")
    assert nobody.code == 2
    assert "no evaluation on a branch, or of a run, named 'nowhere'" in nobody.err


def test_a_large_fall_that_too_few_tests_decide_is_no_verdict(at: Terminal) -> None:
    config(at, ">= 0", tests=4)
    assert at.run("eval", "c.yaml", "--yes").code == 0
    config(at, ">= 2", tests=4)
    open_gate = at.run("eval", "c.yaml", "--yes", "--fail-on-regression")
    assert open_gate.code == 3
    assert "too few tests changed to decide" in open_gate.err


def test_a_config_of_which_no_test_is_as_before_is_undecided_and_a_new_column_is_named(at: Terminal) -> None:
    gated = ("eval", "c.yaml", "--yes", "--fail-on-regression")
    config(at, ">= 0", tests=2)
    at.run(*gated)
    file = at.folder / "c.yaml"
    two = file.read_text().replace("file://answers.py", "file://answers.py, {id: 'file://answers.py', label: more}")
    file.write_text(two)
    added = at.run(*gated)
    file.write_text(two.replace("Say", "Tell").replace("n: 0", "n: 7").replace("n: 1", "n: 8"))
    other = at.run(*gated)
    assert (added.code, other.code) == (0, 3), added.err + other.err
    assert "more is not in the baseline: nothing to compare with." in added.err
    assert "gate undecided:" in other.err
    assert "nothing to compare with" in other.err


def test_failing_tests_that_are_edited_or_new_are_named_though_the_gate_cannot_weigh_them(at: Terminal) -> None:
    gated = ("eval", "c.yaml", "--yes", "--fail-on-regression")
    config(at, ">= 0", tests=6)
    at.run(*gated)
    file = at.folder / "c.yaml"
    edited = file.read_text().replace(
        "n: 5}, assert: [{type: equals, value: good}", "n: 5}, assert: [{type: equals, value: fine}"
    )
    file.write_text(
        edited.replace("n: 4}, assert: [{type: equals, value: good}", "n: 4}, assert: [{type: contains, value: goo}")
    )
    ended = at.run(*gated)
    assert ended.code == 0, ended.err
    assert "2 tests are new or edited since run" in ended.err
    assert "not compared with it; 1 of them fails." in ended.err


def test_a_minimum_pass_rate_fails_beyond_chance_and_is_undecided_within_it(at: Terminal) -> None:
    config(at, ">= 3", tests=20)
    gate = ("eval", "c.yaml", "--yes", "--min-pass-rate")
    held, failed, open_gate, wrong = at.many([*gate, "0.8"], [*gate, "0.99"], [*gate, "0.9"], [*gate, "7"])
    assert (held.code, failed.code, open_gate.code, wrong.code) == (0, 1, 3, 2), failed.err + open_gate.err
    assert "gate failed: [0] file://answers.py passes 17 of 20 tests, fewer than 0.99" in failed.err
    assert "which is not significant; about" in open_gate.err
