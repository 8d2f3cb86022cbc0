"""The first thing that anybody sees."""

from __future__ import annotations

import re

import pytest

from minions_evals_mcp.cli.start.demo import BENCHMARK, SUITE
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.cli.terminal import Ended, Json, Terminal


def runs_of(found: Ended) -> list[Json]:
    runs = found.one()["runs"]
    assert isinstance(runs, list)
    return [one for one in runs if isinstance(one, dict)]


def results(run: Json) -> Json:
    """The run without what is the benchmark's as it is now: its trend, and what its runs so far can detect."""
    return {name: value for name, value in run.items() if name not in ("trend", "minimumDetectable")}


def test_the_demo_catches_the_planted_regression(at: Terminal) -> None:
    found = at.run("demo", "--json")
    before, after = runs_of(found)
    assert (found.code, found.err) == (0, "")
    assert [one["state"] for one in (before, after)] == ["completed", "completed"]
    assert before["regression"] is None
    regression = after["regression"]
    assert isinstance(regression, dict)
    assert regression["evidence"] == "supported"
    assert isinstance(regression["newlyFailing"], list)
    assert len(regression["newlyFailing"]) >= 6
    assert after["failures"]


def test_a_second_demo_does_no_harm_and_judges_nothing_again(at: Terminal) -> None:
    first = at.run("demo", "--json")
    store = str(first.one()["db"])
    kept = at.run("db", "check", "--json", "--db", store).one()
    again = at.run("demo")
    assert again.code == 0
    assert "nothing was re-run" in again.out
    third = at.run("demo", "--json")
    assert [results(one) for one in runs_of(third)] == [results(one) for one in runs_of(first)]
    assert at.run("db", "check", "--json", "--db", store).one() == kept
    assert kept["ok"] is True


def test_a_demo_that_was_cut_short_goes_on_and_says_so(at: Terminal) -> None:
    assert at.run("import", str(shipped_folder("fixtures") / SUITE)).code == 0
    fresh = at.run("demo", "--db", str(at.db))
    assert fresh.out.startswith("94 records")
    other = at.folder / "other.db"
    half = [
        "--key",
        "demo-before",
        "--prompt-version",
        "support/prompt@1",
        "--judge",
        "heuristic",
        "--triggered-by",
        "demo",
    ]
    imported, run, resumed, again = at.many(
        ["import", str(shipped_folder("fixtures") / SUITE), "--db", str(other)],
        ["run-benchmark", BENCHMARK, *half, "--db", str(other)],
        ["demo", "--db", str(other)],
        ["demo", "--db", str(other)],
    )
    assert [one.code for one in (imported, run, resumed, again)] == [0, 0, 0, 0]
    assert resumed.out.startswith("An earlier demo was interrupted")
    assert again.out.startswith("This store already has the demo")


def test_the_demo_has_a_store_of_its_own_and_uses_no_key(at: Terminal) -> None:
    unreachable = {"ANTHROPIC_API_KEY": "wrong-key", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    found = at.with_env(**unreachable).run("demo", "--json")
    assert found.code == 0
    assert [one["spent"] for one in runs_of(found)] == [{}, {}]
    assert not at.db.exists()
    assert str(found.one()["db"]).startswith(str(at.folder / "data"))


def test_the_demo_shows_results_failures_with_causes_and_the_regression(shop: Terminal) -> None:
    said = shop.with_env(COLUMNS="100").run("demo", "--db", str(shop.db)).out
    for word in (
        "24 of 26 passed",
        "16 of 26 passed",
        "─ regression ─",
        "8 cases got worse",
        "significant",
        "10 failed:",
    ):
        assert word in " ".join(said.replace("│", " ").split())
    for why in (
        " When will my order arrive    wrong-output   0.00 of 1\n   Expected “19 November”, got “It is on its way",
        "\n   likely cause: step 1 `get_order` gave the right result",
        "\n   likely cause: the time limit passed before the agent was done",
        "\n   failed not-is-refusal: refuses: i can't help; failed contains: does not",
    ):
        assert why in said


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
def test_the_demo_fits_the_terminal_and_a_pipe_gets_no_colour(shop: Terminal, columns: int) -> None:
    found = shop.with_env(COLUMNS=str(columns)).run("demo", "--db", str(shop.db))
    assert found.code == 0
    table, _, _ = found.out.partition("Saved in ")
    lines = table.splitlines()
    assert max(map(len, lines[1:])) <= columns
    reasons = [line for line in lines if line.startswith("   ")]
    assert len(reasons) >= 10
    assert all(len(line) <= 93 for line in reasons)
    assert "\x1b" not in found.out
    assert found.err == ""


def test_the_commands_that_the_demo_names_work(shop: Terminal) -> None:
    said = shop.run("demo", "--db", str(shop.db)).out
    named = re.findall(r"minions-evals ((?:outbox|classify) .*)", said)
    assert len(named) == 2
    for one in shop.many(*(line.split() for line in named)):
        assert one.code == 0, one
        assert one.out
