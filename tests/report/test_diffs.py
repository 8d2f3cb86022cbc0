"""What changed between two runs, in a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading
from minions_evals_mcp.engine.answers.run_diff import CaseChange, CaseMeasure, RunDiff, RunTotals
from minions_evals_mcp.report.diffs import LONGEST, diff_view
from minions_evals_mcp.scoring.word_diff import word_diff


def drawn(before: str, after: str) -> str:
    """The line that shows how one output became the other."""
    totals = RunTotals(run_id="r", version=None, score=None, passed=0, trials=0)
    measured = CaseMeasure(score=1, passed=2, trials=2)
    change = CaseChange(
        test_case_id="c", title="c", kind="worse", before=measured, after=replace(measured, score=0.5),
        loss=0.5, output_diff=word_diff(before, after),
    )  # fmt: skip
    found = RunDiff(
        benchmark_id="b", title="B", before=totals, after=totals, shared=1, alike=0, counts={"not-alike": 1},
        evidence="undecidable", changes=(change,), reading=PairReading(before="r", after="r", verdict=None, why="no case in common"),
    )  # fmt: skip
    stream = io.StringIO()
    out = Console(file=stream, width=10_000, highlight=False, color_system=None)
    out.print(diff_view(found, out))
    *_, title, line = stream.getvalue().splitlines()
    assert title.rstrip() == "↓ c  worse: 1.00 (2 of 2 trials) → 0.50 (2 of 2 trials)"
    assert "nothing to compare" in stream.getvalue()
    return line.rstrip()


def test_an_output_that_stayed_is_said_to_be_the_same() -> None:
    assert drawn("as ever", "as ever") == "   same output"


def test_of_what_both_have_only_the_neighbourhood_of_a_change_is_shown() -> None:
    same = "word " * 50
    line = drawn(f"{same}old {same}out {same}", f"{same}new {same}in {same}")
    assert "[-old-]{+new+}" in line
    assert "[-out-]{+in+}" in line
    assert line.count("…") == 3
    assert line.startswith("    … ")
    assert len(line) < 250


def test_a_change_without_end_is_cut() -> None:
    before, after = (" ".join(f"{letter}{n} same{n}" for n in range(500)) for letter in "xy")
    assert len(drawn(before, after)) < LONGEST + 300
    assert drawn(before, after).endswith("…")


def test_no_line_is_wider_than_the_terminal_or_breaks_a_word_and_no_id_is_cut() -> None:
    ident = "0f2dc45d-5634-481c-81ba-3666232d9eff"
    totals = RunTotals(run_id=ident, version="support/prompt@2", score=0.5, passed=10, trials=20)
    measured = CaseMeasure(score=1, passed=1, trials=1)
    change = CaseChange(
        test_case_id="c/1", title="A customer who writes everything into the subject line and then goes on and on",
        kind="newly-failing", before=measured, after=replace(measured, score=0, passed=0), loss=1,
        output_diff=word_diff("the refund is on its way " * 8, "the money has been on its way " * 8),
    )  # fmt: skip
    found = RunDiff(
        benchmark_id="b", title="B", before=totals, after=totals, shared=20, alike=20, counts={"newly-failing": 1},
        evidence="undecidable", changes=(change,), reading=PairReading(before="r", after="r", verdict=None, why="no case in common"),
    )  # fmt: skip
    stream = io.StringIO()
    out = Console(file=stream, width=60, highlight=False, color_system=None)
    out.print(diff_view(found, out), crop=False)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert sum(ident in line for line in lines) == 2
    words = " ".join(" ".join(lines).split())
    assert "not comparable: no case in common" in words
    assert [line for line in lines if line and not line.startswith((" ", "✗", "B"))] == [], "what goes on is indented"
