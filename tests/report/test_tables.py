"""Answers as a person reads them."""

from __future__ import annotations

import io

import pytest
from pydantic import JsonValue
from rich.console import Console, Group, RenderableType

from minions_evals_mcp.engine.answers.run_summary import FailureLine, RunSummary, UnscoredLine
from minions_evals_mcp.engine.audit_standing.standing import AuditStanding
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.report.failed_cases import failures_table, unscored_list
from minions_evals_mcp.report.plain import hanging, printable, shortened
from minions_evals_mcp.report.tables import headline, regression_panel, show_run

NASTY = "[red]boo[/red]\x1b[31m\u202e\u200f\x00\nnext\tline"
SHOWN = "[red]boo[/red][31m next line"


def failure(**said: object) -> FailureLine:
    line: dict[str, object] = {
        "test_run_id": "r:1", "test_case_id": "c", "title": "A case", "trial": 1, "failure_type": "wrong-output",
        "severity": "minor", "score": 0.25, "possible": 1.0, "description": "Got “x”.", "lost_most": "", "root_cause": "",
        **said,
    }  # fmt: skip
    return FailureLine.model_validate(line)


def summary(*failures: FailureLine, total: int | None = None, **said: object) -> RunSummary:
    run: dict[str, object] = {
        "run_id": "job1", "key": "k", "kind": "benchmark", "subject_id": "b", "state": "completed", "reason": "", "units": 1,
        "outcomes": {}, "open": 0, "spent": {}, "started_at": "2026-11-21T09:00:00Z", "failures": list(failures),
        "failure_types": {"wrong-output": total or len(failures)}, **said,
    }  # fmt: skip
    return RunSummary.model_validate(run)


def drawn(what: RenderableType, width: int = 80) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False, color_system=None).print(what, crop=False)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_failure_is_one_line_of_figures_and_one_of_reason() -> None:
    assert drawn(failures_table(summary(failure()), 80)) == [
        "1 failed: 1 wrong-output",
        " A case  wrong-output  0.25 of 1",
        "   Got “x”",
    ]


def test_the_checks_that_failed_are_named_where_what_was_expected_does_not_say_it() -> None:
    form = failure(description="failed is-json: why\nGot “x”.")
    text = failure(description="failed not-contains: why\nExpected “y”, got “x”.")
    assert [drawn(failures_table(summary(one), 80))[2:] for one in (form, text)] == [
        ["   failed is-json: why", "   Got “x”"],
        ["   failed not-contains: why", "   Expected “y”, got “x”"],
    ]


@pytest.mark.parametrize("failed", [True, False], ids=["failed", "passed"])
def test_the_audit_that_follows_is_named_once(capsys: pytest.CaptureFixture[str], *, failed: bool) -> None:
    never = "Its checks were never audited."
    audit = AuditStanding(
        state="never", in_words=never, next=str(Next("audit", {"benchmark_id": "b"}, "tests its checks"))
    )
    show_run(summary(*[failure()] * failed, audit=audit))
    said = capsys.readouterr().out
    assert said.count(never) == said.count("minions-evals audit b") == 1
    assert ("Next: minions-evals audit b" in said.splitlines()[1]) is not failed


def test_a_judges_reason_is_shown_whole_on_up_to_three_lines() -> None:
    reason = "Tone (0 of 1): " + " ".join(["rude"] * 30)
    lines = drawn(failures_table(summary(failure(description=f"{reason}\nGot “x”.")), 80))[2:]
    assert " ".join(line.strip() for line in lines[:-1]) == reason
    assert lines[-1] == "   Got “x”"
    longer = drawn(failures_table(summary(failure(description=f"{reason * 3}\nGot “x”.")), 80))[2:]
    assert (len(longer), longer[2].endswith("…")) == (4, True)


def test_a_cause_is_shown_as_a_guess_where_it_adds_something() -> None:
    lost = failure(description="Tone (0.00 of 1): rude\nGot “x”.", lost_most="Tone")
    none = failure(root_cause="There is no tool-call log; the answer itself is wrong")
    late = failure(failure_type="timeout", root_cause="There is no tool-call log; the time limit passed")
    step = failure(root_cause='step 2 `get` gave the right result ({"a":1}), but the answer differs', lost_most="Tone")
    second = [drawn(failures_table(summary(one), 80))[3:] for one in (lost, none, late, step)]
    assert second == [
        ["   Got “x”"],
        [],
        ["   likely cause: the time limit passed"],
        ["   likely cause: step 2 `get` gave the right result, but the answer differs"],
    ]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_long_texts_are_cut_between_words_and_both_sides_keep_their_share(width: int) -> None:
    words = " ".join(["expected"] * 40)
    said = f"Expected “{words}”, got “{words.replace('expected', 'observed')}”."
    cause = "step 1 failed: " + " ".join(["because"] * 40)
    long = failure(title="A title of many words " * 9, description=said, root_cause=cause, trial=2)
    lines = drawn(failures_table(summary(long), width), width)
    assert len(lines) == 4, lines
    _, figures, why, rests_on = lines
    assert figures.endswith("wrong-output  0.25 of 1")
    assert "(trial 2)" in figures
    assert max(map(len, lines)) <= width
    assert len(why) <= 93
    assert "expected…”, got “observed" in why
    assert why.endswith("observed…”")
    assert rests_on.endswith("because…")


def test_what_is_not_shown_is_counted() -> None:
    lines = drawn(failures_table(summary(failure(), total=31), 80))
    assert lines[0] == "31 failed: 31 wrong-output"
    assert lines[-1] == " and 30 more: minions-evals runs job1 --limit 31"


def test_text_under_test_is_never_markup_nor_control() -> None:
    line = failure(title=NASTY, description=NASTY, root_cause=NASTY, lost_most=NASTY)
    unscored = UnscoredLine(test_case_id="c", trial=1, outcome="judge-error", reason=NASTY)
    regression = {"summary": NASTY, "evidence": "supported", "newlyFailing": [NASTY]}
    run = summary(state="failed", reason=NASTY)
    parts: tuple[RenderableType, ...] = (
        failures_table(summary(line), 200), unscored_list(summary(unscored=[unscored]), 80), regression_panel(regression, 200),  # pyright: ignore[reportArgumentType]  JSON
        Group(*headline(run, 200)),
    )  # fmt: skip
    for part in parts:
        said = "\n".join(drawn(part, 200))
        assert SHOWN in said
        assert not {"\x1b", "\u202e", "\u200f", "\x00"} & set(said)


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("one two three", 9, "one two…"),
        ("one two three", 8, "one two…"),
        ("one, two", 5, "one…"),
        ("unbreakable", 6, "unbre…"),
        ("a\nb", 5, "a b"),
        ("x" * 10_000, 5, "xxxx…"),
    ],
)
def test_a_text_is_cut_between_words_where_there_are_any(text: str, limit: int, cut: str) -> None:
    assert shortened(text, limit) == cut
    assert len(cut) <= limit


def test_printable_text_is_one_line_without_what_moves_a_cursor_or_turns_the_text() -> None:
    assert printable(NASTY) == SHOWN
    assert printable("x" * 300, 10) == "x" * 9 + "…"
    assert printable("naïve ✓ 日本") == "naïve ✓ 日本"


def test_ids_are_never_broken_however_narrow_the_terminal() -> None:
    ident = "support/" + "refund-within-window-" * 5 + "1"
    unscored = UnscoredLine(test_case_id=ident, trial=1, outcome="skipped", reason="no output " * 30)
    regression: dict[str, JsonValue] = {
        "summary": "It fell.",
        "evidence": "supported",
        "newlyFailing": [ident, "a", f"{ident}2"],
    }
    run = {"passed": True, "testCaseId": ident, "totalScore": 1.0, "maxPossibleScore": 1.0}
    judged = {"criterionId": f"{ident}/tone", "score": 1.0, "judgedBy": "rules", "rationale": "because " * 20}
    waiting = summary(unscored=[unscored], test_runs=[{**run, "judgments": [judged]}])
    for part in (regression_panel(regression, 60), unscored_list(waiting, 60), Group(*headline(waiting, 60))):
        lines = drawn(part, 60)
        assert any(ident in line for line in lines)
        assert all(len(line.rstrip()) <= 60 or ident in line for line in lines)


def test_a_line_that_is_longer_than_the_screen_goes_on_under_its_beginning_and_no_word_is_broken() -> None:
    line = "  2  support/prompt@2  Replies were too long, and 25c0e450-33a1-4fea-b517-ca36fad0af14 says so"
    folded = hanging(line, 40).split("\n")
    assert folded[0].startswith("  2  support/prompt@2")
    assert all(part.startswith("    ") for part in folded[1:])
    assert "25c0e450-33a1-4fea-b517-ca36fad0af14" in " ".join(folded).split()
    assert hanging("short", 40) == "short"


def test_a_command_is_never_broken_by_the_width_of_a_screen() -> None:
    typed = "minions-evals audit --db evals.db support/quality"
    folded = hanging(f"Its checks were never audited: a wrong answer may pass them. Next: {typed}", 60).split("\n")
    assert folded[-1].strip().removeprefix("Next: ") == typed
    assert "`minions-evals runs --db evals.db latest`" in hanging(
        f"{'word ' * 7}`minions-evals runs --db evals.db latest` ends", 60
    )
