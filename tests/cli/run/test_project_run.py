"""`run`: what a project file names, with one command."""

from __future__ import annotations

import sys

from tests.shared.cli.terminal import Terminal

SUITE = """
minions:
  - {id: geo, type: benchmark, fields: {name: Geography, testCaseIds: [geo/fr, geo/it]}}
  - {id: geo/fr, type: test-case, fields: {name: France, inputs: {q: France}, expectedOutputs: {output: Paris}}}
  - {id: geo/it, type: test-case, fields: {name: Italy, inputs: {q: Italy}, expectedOutputs: {output: Rome}}}
"""
PROJECT = """
suites = ["geo.yaml"]
target = "python:mine:agent"
[thresholds]
min-score = 0.9
"""


def test_what_init_writes_is_run_by_one_command_and_again_once_an_output_was_edited(at: Terminal) -> None:
    at.run("init")
    ran = at.run("run")
    assert "3 of 4 passed" in ran.out
    assert "starter/quality: gates passed\n" in ran.out
    assert ran.code == 0
    suite = at.folder / "evals.yaml"
    suite.write_text(suite.read_text("utf-8").replace("leave your room by noon", "leave by 11:00"), "utf-8")
    again = at.run("run")
    assert "4 of 4 passed" in again.out, again.err
    assert "starter/checkout@2 was edited" in again.err


def test_a_target_that_is_code_is_agreed_to_and_found_beside_the_file_and_thresholds_gate(at: Terminal) -> None:
    at.file("geo.yaml", SUITE)
    at.file("minions-evals.toml", PROJECT)
    at.file("mine.py", "def agent(inputs):\n    return {'France': 'Paris'}.get(inputs['q'], 'unknown')\n")
    refused, ran, literal, one = at.many(
        ["run"], ["run", "--yes"], ["run", "--yes", "--literal"], ["run", "geo/fr", "--yes", "--json"]
    )
    assert refused.code == 2
    assert "needs your consent: it runs the code in" in refused.err
    assert "--yes" in refused.err
    assert "Created a new store" not in refused.err
    assert "1 of 2 passed" in ran.out
    assert "geo: not decided\n" in ran.out, "two cases leave it to chance"
    assert "geo: a gate failed\n" in literal.out
    assert (ran.code, literal.code) == (3, 1)
    assert one.code == 0


def test_the_command_line_goes_before_the_projects_trials(at: Terminal) -> None:
    at.file("geo.yaml", SUITE)
    at.file("minions-evals.toml", PROJECT.replace("[thresholds]", "trials = 2\n[thresholds]"))
    at.file("mine.py", "def agent(inputs):\n    return {'France': 'Paris', 'Italy': 'Rome'}[inputs['q']]\n")
    twice, once = at.many(["run", "--yes"], ["run", "--yes", "--trials", "1"])
    assert "4 of 4 trials passed" in twice.out
    assert "2 of 2 passed" in once.out


def test_a_run_that_is_not_decided_says_what_was_not_judged(at: Terminal) -> None:
    at.file("geo.yaml", SUITE)
    at.file("minions-evals.toml", PROJECT)
    at.file("mine.py", "def agent(inputs):\n    return {'France': 'Paris'}[inputs['q']]\n")
    ran = at.run("run", "--yes", "--allow-skipped")
    assert ran.code == 3
    assert "undecided: 1 of 2 outputs was not judged (Italy: python:mine:agent raised KeyError" in ran.err
    twice = at.run("run", "--yes", "--trials", "2").err
    assert "2 of 4 outputs were not judged" in twice
    assert twice.count("raised KeyError") == 1


def test_an_edit_of_the_program_that_makes_it_worse_is_a_regression(at: Terminal) -> None:
    """The edited program is another target to a cache, and the one that the gate is there for."""
    program = "import json, sys\nq = json.loads(sys.stdin.read())['q']\n"
    at.file("geo.yaml", SUITE)
    at.file("minions-evals.toml", PROJECT.replace("min-score = 0.9", "fail-on-regression = true"))
    at.file("mine.py", f"{program}print({{'France': 'Paris', 'Italy': 'Rome'}}[q])\n")
    target = f"command:{sys.executable} mine.py"
    first = at.run("run", "--yes", "--target", target)
    assert "2 of 2 passed" in first.out, first.err
    at.file("mine.py", f"{program}print('unknown')\n")
    ran = at.run("run", "--yes", "--literal", "--target", target)
    assert "changed since: the code or settings of command:" in " ".join(ran.out.split())
    assert ran.code == 1


def test_the_literal_rule_that_an_undecided_gate_names_is_taken(at: Terminal) -> None:
    at.file("geo.yaml", SUITE)
    at.file("minions-evals.toml", PROJECT.replace("min-score = 0.9", "fail-on-regression = true"))
    at.file("mine.py", "def agent(inputs):\n    return {'France': 'Paris', 'Italy': 'Rome'}[inputs['q']]\n")
    at.run("run", "--yes")
    at.file("mine.py", "def agent(inputs):\n    return 'unknown'\n")
    undecided, failed = at.many(["run", "--yes"], ["run", "--yes", "--literal"])
    assert "--literal" in undecided.err
    assert [undecided.code, failed.code] == [3, 1]


def test_one_key_for_several_benchmarks_is_refused_before_any_is_run(at: Terminal) -> None:
    at.run("init")
    refused, ran = at.many(["run", "starter/quality", "starter/quality", "--key", "k"], ["runs"])
    assert refused.code == 2
    assert "--key names one run, but this would start 2" in refused.err
    assert "minions-evals run starter/quality --key k" in refused.err
    assert "starter" not in ran.out


def test_without_a_project_it_says_how_to_make_one(at: Terminal) -> None:
    refused = at.run("run")
    assert refused.code == 2
    assert "no minions-evals.toml in this folder or above" in refused.err
    assert "minions-evals init" in refused.err


def test_doctor_shows_who_says_what(at: Terminal) -> None:
    at.file("minions-evals.toml", 'judge = "openai:m"\nstore = "other.db"\n')
    said = at.with_env(MINIONS_EVALS_CONCURRENCY="4").run("doctor").out
    assert "judge model openai:m (project file)" in said
    assert "concurrency 4 (MINIONS_EVALS_CONCURRENCY)" in said
    assert f"store {at.db} (MINIONS_EVALS_DB)" in said
    assert "embedder wordllama (default)" in said
