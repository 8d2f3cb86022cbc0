"""A test case over time, as a person and a program see it on the command line."""

from __future__ import annotations

from minions_evals_mcp.cli.commands import COMMANDS
from tests.cli.suites import answer, case, record, suite
from tests.shared.cli.terminal import Terminal


def imported(at: Terminal) -> None:
    """A store with a case by similarity, a case with nothing to judge by, and an answer to each."""
    likes = case("c", "The parcel arrives on Monday.", passRule="similarity_0_8")
    waits = record("n", "test-case", name="n", inputs={"q": "n"})
    file = at.file(
        "s.json", suite(likes, waits, answer("a1", "c", "The parcel comes on Monday."), answer("a2", "n", "Hi"))
    )
    assert at.run("import", file).code == 0


def test_the_commands_are_listed() -> None:
    assert {"stats", "history", "accept"} <= COMMANDS.keys()


def test_a_case_over_time_from_first_run_to_new_baseline(at: Terminal) -> None:
    imported(at)
    never, _, once, history, _, worse, accepted, exact = at.many(
        ["stats", "c"],
        ["run-test-case", "c"],
        ["stats", "c"],
        ["history", "c"],
        ["accept", "c", "--output", "Nobody knows."],
        ["run-test-case", "c"],
        ["accept", "c", "--by", "anna", "--json"],
        ["history", "c", "--limit", "1"],
    )
    assert "c has no runs yet" in never.out
    assert "c: 1 run, 100 % passed" in once.out
    assert "no regressions" in once.out
    assert "similarity 0.9" in history.out
    assert "why:      similarity 0.9" in history.out
    assert "-2 characters" in history.out
    assert worse.code == 1
    assert accepted.one()["expectedOutput"] == "The parcel comes on Monday."
    assert "FAILED" not in exact.out, "nothing before the new baseline counts as before"
    assert "more: --after" in exact.out


def test_programs_read_the_same(at: Terminal) -> None:
    imported(at)
    _, stats, history = at.many(
        ["run-test-case", "c"], ["stats", "c", "--json"], ["history", "c", "--offset", "1", "--json"]
    )
    assert (stats.one()["totalRuns"], stats.one()["passRate"]) == (1, 100.0)
    assert history.one() == {"executions": [], "total": 1, "nextCursor": None}


def test_an_output_that_waits_is_accepted_by_its_case_or_its_run(at: Terminal) -> None:
    imported(at)
    waiting, latest, accepted, stats = at.many(
        ["run-test-case", "n", "--key", "k"], ["accept", "latest"], ["accept", "n"], ["stats", "n"]
    )
    assert (latest.code, "it can be a test case or a run" in latest.err) == (2, True)
    assert "1 output has no check: `minions-evals accept CASE`" in waiting.out
    assert "submit takes" not in waiting.out
    assert "n now expects: Hi" in accepted.out
    assert "1 run, 100 % passed" in stats.out


def test_what_is_not_there_is_named(at: Terminal) -> None:
    imported(at)
    for said in at.many(["stats", "x"], ["history", "x"], ["accept", "x"], ["run-test-case", "c", "--embedder", "x"]):
        assert said.code == 2
        assert "'x'" in said.err
    assert "no test case or run with the id 'x'" in at.run("accept", "x").err


def test_similar_rows_are_scored_with_the_embedder_of_the_environment(at: Terminal) -> None:
    row = '{"id": "1", "output": "The talk is on Tuesday", "assert": [{"type": "similar", "value": "The talk is on Thursday"}]}\n'
    assert "caution: the weekdays differ" in at.run("score", "-", stdin=row).out
    assert "no key for openai" in at.with_env(MINIONS_EVALS_EMBEDDER="openai:x").run("score", "-", stdin=row).err
