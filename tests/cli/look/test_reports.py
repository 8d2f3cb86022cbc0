"""`minions-evals report` and `minions-evals diff` as processes."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.suites import answer, benchmark, case, suite
from tests.shared.cli.terminal import Json, Terminal

NASTY = "green [red]boo[/red] \x1b[31m\u202e<b>bold</b>"


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A terminal whose store holds the demo's two runs."""
    terminal = Terminal(tmp_path_factory.mktemp("two"))
    assert terminal.run("demo", "--db", str(terminal.db)).code == 0
    return terminal


def in_folder(two_runs: Terminal, folder: Path) -> Terminal:
    """The same store in a folder of the test's own."""
    shutil.copy(two_runs.db, folder / "evals.db")
    return Terminal(folder)


def test_a_report_is_written_in_the_form_that_its_name_asks_for(two_runs: Terminal, tmp_path: Path) -> None:
    at = in_folder(two_runs, tmp_path)
    found = at.many(
        *(["report", "support/quality", "-o", f"r.{form}"] for form in ("html", "md", "xml", "json", "csv"))
    )
    assert [one.code for one in found] == [0] * 5
    assert "Support quality regressed: 16 of 26 passed (62 %, 95 %: 43–78 %), score 0.766, 0.75 is needed." in " ".join(
        found[0].out.split()
    )
    starts = (
        "<!doctype html>",
        "**Support quality regressed",
        '<?xml version="1.0"',
        '{"answer": "Support',
        "testCaseId,title",
    )
    for form, start in zip(("html", "md", "xml", "json", "csv"), starts, strict=True):
        assert (tmp_path / f"r.{form}").read_text().startswith(start)
    assert len(json.loads((tmp_path / "r.json").read_text())["cases"]) == 26
    assert not list(tmp_path.glob(".r*"))


def test_a_report_puts_two_runs_side_by_side(two_runs: Terminal, tmp_path: Path) -> None:
    at = in_folder(two_runs, tmp_path)
    found = at.run("report", "demo-after", "--compare", "demo-before", "-o", "r.json", "--json")
    assert found.code == 0
    told = found.one()
    assert (
        told["answer"]
        == "Support quality: regressed; 8 newly failing, 2 worse, of 26 comparable cases; passed 24 → 16 of 26."
    )
    assert told["bytes"] == (tmp_path / "r.json").stat().st_size
    cases = json.loads((tmp_path / "r.json").read_text())["cases"]
    assert [one["change"]["kind"] for one in cases[:8]] == ["newly-failing"] * 8


def test_a_file_that_stands_there_is_replaced_and_one_that_cannot_be_written_is_told(
    two_runs: Terminal, tmp_path: Path
) -> None:
    at = in_folder(two_runs, tmp_path)
    at.file("r.md", "old")
    found = at.many(
        ["report", "support/quality", "-o", "r.md"],
        ["report", "support/quality", "-o", "r.pdf", "--json"],
        ["report", "support/quality", "-o", "missing/r.md", "--json"],
        ["report", "nothing", "-o", "r.md", "--json"],
        ["report", "support/quality", "--json"],
    )
    assert [one.code for one in found] == [0, 2, 2, 2, 2]
    assert (tmp_path / "r.md").read_text() != "old"
    assert ".html, .md, .xml, .json, .csv" in str(found[1].error()["remedy"])
    assert "No such file" in str(found[2].error()["message"])
    assert found[3].error()["code"] == "not-found"


def test_diff_shows_verdict_and_figures_first_then_each_change_word_by_word(two_runs: Terminal) -> None:
    found = two_runs.run("diff", "demo-before", "demo-after", "--limit", "2")
    assert found.code == 0
    lines = found.out.splitlines()
    assert lines[0].startswith("Support quality regressed: score -0.174")
    assert re.fullmatch("Next: minions-evals classify [0-9a-f]{8}", lines[2])
    assert lines[3] == "  before  24 of 26 passed  score 0.939  support/prompt@1"
    assert lines[5] == "  after   16 of 26 passed  score 0.766  support/prompt@2"
    assert "  8 newly failing, 2 worse, 16 the same" in lines
    first = lines.index("✗ When will my order arrive  newly failing: 1.00 → 0.00")
    assert " ".join(" ".join(lines[first + 2 : first + 4]).split()) == (
        "[-Your order -]{+It +}is on its way and [-arrives on 19 November-]{+will arrive soon+}."
    )
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "and 8 more (--limit shows them)"


def test_diff_is_told_to_programs_too(two_runs: Terminal) -> None:
    found = two_runs.run("diff", "demo-after", "demo-before", "--json", "--limit", "1").one()
    assert found["counts"] == {"newly-passing": 8, "better": 2, "same": 16}
    assert found["more"] == 9
    assert two_runs.run("diff", "demo-after", "demo-after").out.splitlines()[:8:6] == [
        "Support quality is unchanged: no score changed on 26 cases",
        "  26 the same",
    ]


def test_diff_marks_changes_by_line_and_colour_on_a_terminal(two_runs: Terminal) -> None:
    coloured = two_runs.with_env(FORCE_COLOR="1", TERM="xterm-256color")
    out = coloured.run("diff", "demo-before", "demo-after", "--limit", "1").out
    assert "\x1b[9;31mYour order " in out
    assert "\x1b[4;32mIt " in out


def test_diff_names_what_was_not_measured_alike_and_lets_no_text_act(at: Terminal) -> None:
    records: list[Json] = [case("kept"), case("edited"), benchmark("b", "kept", "edited")]
    at.file(
        "1.json",
        suite(*records, *(answer(f"1{name}", name, "green", promptVersionRef="v") for name in ("kept", "edited"))),
    )
    at.file(
        "2.json",
        suite(
            case("edited", want="boo"),
            *(answer(f"2{name}", name, NASTY, promptVersionRef="w") for name in ("kept", "edited")),
        ),
    )
    ran = at.many(
        ["import", "1.json"], ["run-benchmark", "b", "--prompt-version", "v", "--key", "one"],
        ["import", "2.json"], ["run-benchmark", "b", "--prompt-version", "w", "--key", "two"],
    )  # fmt: skip
    assert [one.code for one in ran] == [0] * 4
    out = at.run("diff", "one", "two").out
    assert "1 the same" in out
    assert "not included: 1 not comparable" in out
    assert "· edited  not comparable (testCase differ)" in out
    assert "{+ [red]boo[/red] [31m<b>bold</b>+}" in out
    assert not {"\x1b", "\u202e"} & set(out)


def test_the_commands_that_an_answer_names_work_as_they_stand_in_a_store_that_was_named(
    two_runs: Terminal, tmp_path: Path
) -> None:
    shutil.copy(two_runs.db, tmp_path / "my own.db")
    at = Terminal(tmp_path)
    store = ["--db", "my own.db"]
    reported, refused, labels, shown = at.many(
        ["report", "latest", "-o", "r.md", *store],
        ["report", "nobody", "-o", "r.md", *store],
        ["list", "eval-trend", *store],
        ["runs", "latest", "--limit", "2", *store],
    )
    assert reported.code == shown.code == 0
    named = re.findall(r"`(minions-evals [^`]+)`", (tmp_path / "r.md").read_text() + refused.err + labels.out)
    named += re.findall(r"(?:more|Next): (minions-evals .*)", shown.out)
    typed = [shlex.split(command)[1:] for command in named if not re.search(r"\b(view|FILE|audit)\b", command)]
    assert len(typed) >= 4
    assert {one.code for one in at.many(*typed)} == {0}, "the store that the environment names is not there"
    assert all("--db 'my own.db'" in command for command in named)
    assert "Next: `minions-evals audit support/quality --db 'my own.db'` tests its checks" in " ".join(
        shown.out.split()
    )


def test_a_benchmark_alone_compares_its_two_newest_runs_and_says_which(two_runs: Terminal, tmp_path: Path) -> None:
    alone, elsewhere = in_folder(two_runs, tmp_path).many(
        ["compare", "support/quality", "--db", "evals.db"],
        ["compare", "support/quality", "--target", "openai:m", "--db", "evals.db"],
    )
    first, second = ("support/prompt@1 (run ", "support/prompt@2 (run ")
    assert "Comparing the two newest runs: " in alone.err
    assert alone.err.index(first) < alone.err.index(second)
    assert alone.out.startswith("REGRESSED  Hold support/prompt@2")
    assert (elsewhere.code, "--from and --to are missing" in elsewhere.err) == (2, True), "a target makes new runs"
