"""An evaluation's result as a text for a terminal, and as HTML for a notebook."""

from __future__ import annotations

import io
import shlex
import shutil
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from minions_evals_mcp.configured import default_db
from minions_evals_mcp.default_store import left_behind, user_store
from minions_evals_mcp.domain.values import first_named, one_line, short_id
from minions_evals_mcp.engine.answers.gates import limit_words, open_regression_words, stays_red
from minions_evals_mcp.engine.answers.run_diff import CaseChange, Kind, RunDiff, RunTotals
from minions_evals_mcp.evaluation.figures import Figures
from minions_evals_mcp.presentation.next_steps import PythonCalls, Terminal, in_terms
from minions_evals_mcp.presentation.verdict_words import beside_passes
from minions_evals_mcp.report.diffs import diff_verdict, diff_view
from minions_evals_mcp.report.failed_cases import failures_table, reason_line, unscored_list
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.screen import console as screen
from minions_evals_mcp.report.sentences import EVIDENCE, change_words, checks_words, passed_words
from minions_evals_mcp.report.tables import headline
from minions_evals_mcp.store.queries.shared_cases import Shared

CHANGED: dict[Kind, str] = {
    "newly-failing": "newly failing", "worse": "worse", "newly-passing": "newly passing", "better": "better",
    "not-alike": "not comparable (the case or its checks were edited)", "only-after": "new, or without a verdict before",
    "only-before": "without a verdict now, or gone",
}  # fmt: skip
SINCE: dict[Kind, str] = {"newly-failing": "failing", "newly-passing": "passing"}
"""Of a run after one that fell: what has been so since the last passing run is not new."""
NAMED = 8
FEW = 3
LONGEST_WHY = 300
LEFT = "style='text-align:left'"
UNTYPESET = "<div class='tex2jax_ignore mathjax_ignore'>"
"""Opens what a notebook shows: without these classes it would set "$5 to $10" as a formula, and follow the commands of one."""
COLOURS = {True: "#1a7f37", False: "#cf222e", None: "#7d4e00"}
"""Behind white letters, so that they are read on a light page and on a dark one."""
NO_JUDGE = (
    'no model judges: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or judge="provider:model"; until then a person does'
)
VERDICTS = {True: "passed", False: "failed", None: "no verdict"}


def text_of(result: Figures) -> str:
    """The verdict against the run before, the next command, the figures, what changed, and what failed."""
    console = _console()
    return _printed(console, _parts(result, console.width))


def diff_text(diff: RunDiff) -> str:
    """The figures of both runs, then each change with what it did to the output."""
    console = _console()
    return _printed(console, [diff_view(diff, console)])


def _console() -> Console:
    width = shutil.get_terminal_size().columns
    return screen(file=io.StringIO(), width=width, color_system=None, force_jupyter=False)


def _printed(console: Console, parts: Iterable[RenderableType]) -> str:
    for part in parts:
        console.print(part, crop=False, soft_wrap=isinstance(part, str))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().rstrip("\n")


def _parts(result: Figures, width: int) -> Iterator[RenderableType]:
    summary = result.summary
    yield Text(verdict_line(result), style="bold")
    yield f"Next: {next_command(result)}"
    if summary.benchmark_run is None:
        yield Text(f"{result.name}  {_judged(result)}")
    else:
        yield Group(*headline(summary, width, verdict=False))
    for line in change_lines(result):
        yield Text(line)
    if len(result.check_means) > 1:
        yield checks_table(result)
    if summary.failures:
        yield failures_table(summary, width, _store(result))
    if summary.unscored:
        yield unscored_list(summary, width)
    if result.problem and not summary.unscored:
        yield Text(printable(result.problem, 400))
    yield from _closing(result)


def _closing(result: Figures) -> Iterator[RenderableType]:
    """What the gates need, who judges, and where the run is saved."""
    if (limit := result.limit) is not None and limit.gate == "undecided":
        yield in_terms(limit_words(limit, result.name, "pass rate"), PythonCalls(_store(result)))
    if result.asked.fail_on_regression and result.gate != "held":
        yield _gate_line(result)
    if result.summary.outcomes.get("awaiting-judgments") and result.asked.lacks_judge:
        yield Text(NO_JUDGE)
    if result.asked.is_default_store:
        yield _store_line(result)


def _gate_line(result: Figures) -> str:
    """Why the gate on a fall does not pass: nothing could be compared, or what becomes of the fall."""
    fields = result.summary.benchmark_run or {}
    if fields.get("notCompared"):
        return in_terms(open_regression_words(result.summary), PythonCalls(_store(result)))
    return in_terms(stays_red(short_id(result.run_id)), Terminal(_store(result)))


def checks_table(result: Figures) -> Table:
    """Each check's mean score in the run before and in this one, and how many outputs passed it."""
    has_before = any(before is not None for _, before in result.check_means)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("  check")
    for title in ("before", "score", "change") if has_before else ("score",):
        table.add_column(title, justify="right")
    table.add_column("passed", justify="right")
    for row in _check_rows(result, has_before=has_before):
        table.add_row(f"  {row[0]}", *row[1:])
    return table


def _check_rows(result: Figures, *, has_before: bool) -> Iterator[tuple[str, ...]]:
    for now, before in result.check_means:
        was = "–" if before is None else f"{before.score:.2f}"
        change = "new" if before is None else _signed(now.score - before.score)
        scores = (was, f"{now.score:.2f}", change) if has_before else (f"{now.score:.2f}",)
        yield shortened(now.name, 40), *scores, f"{now.passed} of {now.total}"


def _signed(change: float) -> str:
    text = f"{change:+.2f}".replace("-", "−")
    return "0.00" if text in {"+0.00", "−0.00"} else text


def _store_line(result: Figures) -> str:
    """Returns where it is kept; at first also what that place is, and how to have another."""
    db = result.asked.config.db
    if result.asked.taken_name:
        return f"saved in {db}\n  as {result.name}: {result.asked.taken_name} is the name of another folder's evaluation there"
    if result.before is not None:
        return f"saved in {db}"
    if db == user_store():
        return f"saved in {db}\n  which all runs outside a project share. Pass store=… to choose another"
    before = left_behind(db)
    return f"saved in {db}" + (f"\n  earlier runs of all your projects are in {before}" if before else "")


def _judged(result: Figures) -> str:
    summary = result.summary
    judged = sum(summary.outcomes.get(outcome, 0) for outcome in ("scored", "timed-out"))
    waiting = summary.outcomes.get("awaiting-judgments", 0)
    waits = f", {waiting} {'waits' if waiting == 1 else 'wait'} for a judge" if waiting else ""
    return f"{judged} of {summary.units} judged{waits}"


def verdict_line(result: Figures) -> str:
    """Returns whether it passed, and how it stands against the run before."""
    return f"{result.name}: {VERDICTS[result.passed]}; {_standing(result)}"


def short_line(result: Figures) -> str:
    """The same in one line with the cases that failed: what pytest and a debugger show."""
    named = first_named([shortened(failure.title, 40) for failure in result.summary.failures], FEW)
    why = _why_undecided(result) if result.passed is None else ""
    return (
        verdict_line(result)
        + (f"; failed: {named}" if named else "")
        + (f"; {shortened(why, LONGEST_WHY)}" if why else "")
    )


def _why_undecided(result: Figures) -> str:
    if result.summary.unscored:
        return result.summary.unscored[0].reason
    limit = result.limit
    return (
        ""
        if limit is None or limit.gate == "held"
        else in_terms(limit_words(limit, result.name, "pass rate"), PythonCalls())
    )


def _standing(result: Figures) -> str:
    changes, beside = result.changes, result.beside
    if result.summary.benchmark_run is None:
        return "nothing to compare"
    if result.before is None:
        return "the first run of this name"
    if changes is None and not (beside and beside.cases):
        return f"no case in common with the run before ({short_id(result.before)})"
    if beside is None or not beside.cases:
        return f"no case is comparable with the run before ({short_id(result.before)})"
    tried = " trials" if max(beside.previous_total, beside.total) > beside.cases else ""
    counted = f"{beside.previous_passed} of {beside.previous_total}{tried} passed before{_now(beside)}"
    against_noise = EVIDENCE[beside.evidence]
    if result.summary.regression is not None:
        since = f" since {short_id(result.before)}" if "fallenSince" in result.summary.regression else ""
        what = "a regression" if beside.evidence == "supported" or beside.fall else "a possible regression"
        return (
            f"{what}{since}: {counted}; {against_noise}{beside_passes(result.summary.regression, result.summary.fall)}"
        )
    gain = _gain(beside, beside.passed)
    if beside.broke and gain <= 0:
        if_all_passed = _gain(beside, beside.passed + beside.broke)
        against = "worse than" if if_all_passed < 0 else "undecided beside"
        return f"{against} the run before: {counted}"
    if gain == 0:
        return f"as the run before: {counted}"
    return f"{'better' if gain > 0 else 'worse'} than the run before: {counted}; {against_noise}"


def _gain(beside: Shared, passed: int) -> int:
    """Above 0 where so many passes are a larger share than before, below 0 where they are a smaller one."""
    return passed * beside.previous_total - beside.previous_passed * beside.total


def _now(beside: Shared) -> str:
    """Returns how many pass now; of those that do not, which broke."""
    if not beside.broke:
        return f", {beside.passed} of {beside.total} now"
    failed = beside.total - beside.passed - beside.broke
    return f"; {beside.passed} passed{f', {failed} failed' if failed else ''} and {beside.broke} broke now"


def change_lines(result: Figures) -> Iterator[str]:
    """Yields what differs from the run before: the version, and the cases by kind."""
    changes = result.changes
    if changes is None:
        return
    fallen = result.summary.regression is not None and "fallenSince" in result.summary.regression
    since = f" since {short_id(changes.before.run_id)}" if fallen else ""
    before, after = changes.before.version, changes.after.version
    if before != after:
        yield f"  version{since}: {_short(before)} → {_short(after)}"
    for kind, words in CHANGED.items():
        changes_of_kind = [change for change in changes.changes if change.kind == kind]
        count = changes.counts.get(kind, 0)
        if count:
            named = changes_of_kind and first_named([*map(_title, changes_of_kind)], NAMED, of=count)
            label = f"{SINCE[kind]}{since}" if since and kind in SINCE else words
            yield f"  {label}: {count}" + (f" ({named})" if named else "")
    if words := checks_words(changes):
        yield f"  {words}"
    elif before == after and not any(changes.counts.get(kind) for kind in CHANGED):
        yield "  no visible change"


def _short(version: str | None) -> str:
    return "none" if version is None else version.partition("@")[2] or version


def _title(change: CaseChange) -> str:
    return shortened(change.title or change.test_case_id, 40)


def next_command(result: Figures) -> str:
    """The command that a reader would type next."""
    where = _where(result)
    if result.summary.outcomes.get("awaiting-judgments"):
        return f"minions-evals judge{where}"
    if result.before is not None and result.passed is not True and result.changes is not None:
        return f"minions-evals diff {short_id(result.before)} {short_id(result.run_id)}{where}"
    if result.passed is not True:
        return f"minions-evals runs {short_id(result.run_id)}{where}"
    return f"minions-evals view{where}"


def _where(result: Figures) -> str:
    """Returns how a command is told of the store, where it would look elsewhere."""
    db = _store(result)
    return "" if db is None else f" --db {shlex.quote(str(db))}"


def _store(result: Figures) -> Path | None:
    """The store, where a command has to be told of it."""
    db = result.asked.config.db
    return None if result.asked.is_default_store and db == default_db() else db


def html_of(result: Figures) -> str:
    """The result as a notebook shows it."""
    badge = f"background:{COLOURS[result.passed]};color:#fff;padding:1px 8px;border-radius:4px"
    fields = result.summary.benchmark_run
    figures = _judged(result) if fields is None else f"{passed_words(result.summary, fields)}, score {result.score:.3f}"
    rows = "".join(
        f"<tr><td {LEFT}>{escape(shortened(failure.title, 60))}</td><td {LEFT}>{escape(failure.failure_type)}</td>"
        f"<td {LEFT}>{escape(shortened(reason_line(failure.description), 160))}</td></tr>"
        for failure in result.summary.failures
    )
    head = "".join(f"<th {LEFT}>{title}</th>" for title in ("failed case", "how", "why"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    unscored = "".join(
        f"<li>{escape(unscored_case.test_case_id)}: {escape(unscored_case.outcome)}:"
        f" {escape(one_line(printable(unscored_case.reason, 4_000), 160))}</li>"
        for unscored_case in result.summary.unscored
    )
    changes = "".join(f"<li>{escape(line.strip())}</li>" for line in change_lines(result))
    return (
        f"{UNTYPESET}<p><b style='{badge}'>{VERDICTS[result.passed]}</b> <b>{escape(result.name)}</b> {escape(figures)}</p>"
        f"<p>{escape(_standing(result))}</p>"
        + (f"<ul>{changes}</ul>" if changes else "")
        + (_checks_html(result) if len(result.check_means) > 1 else "")
        + (f"<p>{escape(result.problem)}</p>" if result.problem else "")
        + (table if rows else "")
        + (f"<p>not scored</p><ul>{unscored}</ul>" if unscored else "")
        + f"<p><code>{escape(next_command(result))}</code></p></div>"
    )


def _checks_html(result: Figures) -> str:
    has_before = any(before is not None for _, before in result.check_means)
    titles = ("check", *(("before", "score", "change") if has_before else ("score",)), "passed")
    return _table(titles, _check_rows(result, has_before=has_before))


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th {LEFT}>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td {LEFT}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def diff_html(diff: RunDiff) -> str:
    """The changes between two runs as a notebook shows them: the figures of both, and each case that changed."""
    figures = _table(
        ("", "run", "version", "passed", "score"),
        (_totals_row("before", diff.before), _totals_row("after", diff.after)),
    )
    rows = [(shortened(_title(change), 60), change_words(change), _output_words(change)) for change in diff.changes]
    words = "".join(f"<p>{escape(line)}</p>" for line in (EVIDENCE[diff.evidence], checks_words(diff)) if line)
    more = f"<p>and {diff.more} more</p>" if diff.more else ""
    changes = _table(("case", "change", "output"), rows) if rows else "<p>no case changed</p>"
    return f"{UNTYPESET}<p><b>{escape(diff_verdict(diff))}</b></p>{figures}{words}{changes}{more}</div>"


def _totals_row(name: str, totals: RunTotals) -> tuple[str, ...]:
    score = "–" if totals.score is None else f"{totals.score:.3f}"
    return name, totals.run_id, totals.version or "", f"{totals.passed} of {totals.trials}", score


def _output_words(change: CaseChange) -> str:
    """The output with what is gone in [-…-] and what is new in {+…+}, as a pipe shows it."""
    marks = {"equal": "{}", "delete": "[-{}-]", "insert": "{{+{}+}}"}
    parts = (marks[part.op].format(part.text) for part in change.output_diff or ())
    return shortened("".join(parts), 300)
