"""A command without its id says which there are; ids may be given by their beginning, or as `latest`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import cast

import pytest

from tests.cli.suites import answer, benchmark, case, suite
from tests.shared.cli.terminal import Json, Terminal


@pytest.fixture(scope="module")
def _ran_once(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    at = Terminal(tmp_path_factory.mktemp("ran"))
    made = suite(
        case("colours/grass"), case("colours/sky", "blue"), answer("a1", "colours/grass", "green"),
        answer("a2", "colours/sky", "grey"), benchmark("colours/all", "colours/grass", "colours/sky"),
    )  # fmt: skip
    assert at.run("import", at.file("s.json", made)).code == 0
    for key in ("one", "two"):
        assert at.run("run-benchmark", "colours/all", "--key", key).code == 0
    return at


@pytest.fixture
def ran(_ran_once: Terminal, tmp_path: Path) -> Terminal:
    """A benchmark of two cases, run twice; one case fails."""
    return Terminal(shutil.copytree(_ran_once.folder, tmp_path / "ran"))


@pytest.mark.parametrize(
    ("command", "said", "next_command"),
    [
        ("trend", "trend takes a benchmark. The newest: colours/all.", "minions-evals trend colours/all"),
        ("history", "history takes a test case. The newest: colours/sky, colours/grass.", "minions-evals history colours/sky"),
        ("compare", "takes a benchmark and two versions, or two runs. The newest: colours/all.", "colours/all --from VERSION --to VERSION"),
        ("accept", "accept takes a test case or a run. The newest: colours/sky, colours/grass.", "minions-evals accept colours/sky"),
        ("versions", "versions takes a prompt version; there is none yet.", "minions-evals init"),
    ],
)  # fmt: skip
def test_a_command_without_its_id_names_those_that_can_be_given(
    ran: Terminal, command: str, said: str, next_command: str
) -> None:
    refused = ran.run(command)
    assert refused.code == 2
    assert said in refused.err
    assert next_command in refused.err


def test_a_benchmark_where_a_run_is_asked_names_its_newest_run_and_the_reverse_its_benchmark(ran: Terminal) -> None:
    newest = str(cast("list[Json]", ran.run("runs", "--json").one()["runs"])[0]["runId"])
    for command in ("classify", "rejudge", "diff"):
        refused = ran.run(command, "colours/all", *(["colours/all"] if command == "diff" else []))
        assert refused.code == 2
        assert "that is a benchmark." in refused.err
        assert f"Its newest run is {newest[:8]}. `minions-evals runs` lists all." in refused.err
    refused = ran.run("trend", newest[:8])
    assert "that is a run." in refused.err
    assert f"Name what it ran: colours/all. `minions-evals runs {newest[:8]}` shows it." in refused.err


@pytest.mark.parametrize("given", [(), ("latest",)])
def test_diff_without_its_runs_shows_the_two_newest_in_order(ran: Terminal, given: tuple[str, ...]) -> None:
    newest, older = (str(run["runId"]) for run in cast("list[Json]", ran.run("runs", "--json").one()["runs"]))
    refused = ran.run("diff", *given)
    assert refused.code == 2
    assert f"minions-evals diff {older[:8]} {newest[:8]}" in refused.err


def test_without_a_store_nothing_is_named_and_none_is_made(bare: Terminal) -> None:
    refused = bare.run("trend")
    assert (refused.code, bare.db.exists()) == (2, False)
    assert "there is none yet" in refused.err


def test_an_option_that_is_missing_is_named(ran: Terminal) -> None:
    assert "report: --out is missing." in ran.run("report", "latest").err


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("trend", "latest"), "colours/all: no trend yet"),
        (("trend", "colours/a"), "colours/all: no trend yet"),
        (("what-changed", "colours/a"), "colours/all: 2 runs, 0 changes of level, 0 flaky cases"),
        (("stats", "colours/g"), "colours/grass: 2 runs"),
        (("show", "colours/al"), "benchmark colours/all"),
        (("show", "latest"), "benchmark-run "),
        (("audit", "colours/a"), "colours/all: "),
        (("set", "colours/gr", "name=Grass"), "changed colours/grass: name"),
    ],
)
def test_ids_are_meant_by_their_beginning_and_as_the_latest(
    ran: Terminal, arguments: tuple[str, ...], shown: str
) -> None:
    said = ran.run(*arguments)
    assert said.code == 0, said.err
    assert shown in said.out


def test_the_latest_failure_is_promoted_and_the_run_keeps_the_whole_id(ran: Terminal) -> None:
    assert "Failed once: colours/sky" in ran.run("promote", "latest", "--corrected", "blue").out
    made = ran.run("run-benchmark", "colours/a", "--json").one()
    assert made["subjectId"] == "colours/all"


def test_what_begins_several_ids_is_refused_with_them(ran: Terminal) -> None:
    refused = ran.run("history", "colours/")
    assert refused.code == 2
    assert "colours/ is the beginning of several ids: colours/sky, colours/grass." in refused.err


def test_what_is_erased_is_named_in_full_and_what_is_hidden_is_not(ran: Terminal) -> None:
    assert ran.run("forget", "--record", "colours/gr").code == 2
    assert "colours/grass is hidden" in ran.run("delete", "colours/gr").out


def test_a_config_has_no_trend_and_says_why(at: Terminal) -> None:
    checked = "tests: [{vars: {word: a}, assert: [{type: contains, value: a}]}]"
    at.file("c.yaml", f'prompts: ["Say {{{{word}}}}", "Shout {{{{word}}}}"]\nproviders: [echo]\n{checked}\n')
    assert at.run("eval", "c.yaml").code == 0
    for command in ("trend", "what-changed"):
        refused = at.run(command, "latest")
        assert refused.code == 2
        assert "has runs, but none counts for a trend" in refused.err
        assert "minions-evals runs " in refused.err


def test_what_changed_since_a_day_after_the_newest_run_says_when_that_was(ran: Terminal) -> None:
    refused = ran.run("what-changed", "latest", "--since", "2200-01-01")
    assert refused.code == 2
    assert "colours/all has no run since then." in refused.err
