"""The changes between two runs, as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.text import Text

from minions_evals_mcp.domain.results import DiffPart
from minions_evals_mcp.domain.values import first_named, short_id
from minions_evals_mcp.engine.answers.run_diff import APART, KINDS, CaseChange, RunDiff, RunTotals
from minions_evals_mcp.presentation.verdict_words import compared_words
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.next_command import next_line
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.screen import console, whole
from minions_evals_mcp.report.sentences import KIND_WORDS, change_words, checks_words, set_up_words

GLYPHS = {
    "newly-failing": ("✗", "bold red"),
    "worse": ("↓", "red"),
    "newly-passing": ("✓", "bold green"),
    "better": ("↑", "green"),
}
NAMED = 5
"""So many other columns are named under a report of one."""
CONTEXT = 40
"""Characters that are shown of what both outputs have, on either side of a change."""
LONGEST = 600
SHORTEST, LONGEST_TITLE = 20, 70


def show_diff(diff: RunDiff, store: Path | None) -> None:
    """The verdict, the next step and the figures, then each change with what it did to the output."""
    out = console()
    fell = diff.counts.get("newly-failing") or diff.counts.get("worse")
    command = f"classify {short_id(diff.after.run_id)}" if fell else "view"
    out.print(diff_view(diff, out, next_step=next_line(command, store)), crop=False)


def show_written(
    files: Path | Sequence[Path],
    answer: str,
    *,
    columns: Sequence[tuple[str, str]] = (),
    benchmark: str = "",
    store: Path | None = None,
) -> None:
    """The report's answer, where it was written, and which other columns of its config there are to report."""
    out = console()
    out.print(Text(printable(answer, 600), style="bold"))
    for file in [files] if isinstance(files, Path) else files:
        out.print(Text(f"written to {file}", style="dim"), soft_wrap=True)
    if columns:
        others = [f"{ident} ({shortened(name, 50)})" for ident, name in columns]
        named = first_named(others, NAMED, between="; ")
        report, together = (in_store(f"minions-evals {verb}", store) for verb in ("report", "view"))
        sentence = f"This is one of {len(columns) + 1} columns of its config. The others: {report} {named}."
        out.print(Text(f"{sentence} All side by side: {together}, or {report} {benchmark} -o matrix.html."))


def diff_verdict(diff: RunDiff) -> str:
    """The sentence that begins a comparison of two runs, without a full stop."""
    return f"{printable(diff.title, 200)} {compared_words(diff.reading).removeprefix('it ')}"


def diff_view(diff: RunDiff, out: Console, *, next_step: str = "") -> Group:
    """The comparison as it is printed there, with the next step on its second line, if any."""
    verdict = Text(diff_verdict(diff), style="bold")
    following = [whole(next_step)] if next_step else []
    lines = [*verdict.wrap(out, out.width), *following, *_figures(diff, out)]
    for change in diff.changes:
        lines.extend(_change(change, out))
    if diff.more:
        lines.append(Text(f"and {diff.more} more (--limit shows them)", style="dim"))
    return Group(*lines)


def _figures(diff: RunDiff, out: Console) -> Iterator[Text]:
    for name, totals in (("before", diff.before), ("after", diff.after)):
        line = whole(f"  {name:<6}  {_totals(totals, cases=diff.alike)}")
        run = whole(totals.run_id)
        yield from (
            [line + whole("  ") + run] if len(line) + 2 + len(run) <= out.width else [line, whole(" " * 10) + run]
        )
    counted = ", ".join(
        f"{diff.counts[kind]} {KIND_WORDS[kind]}" for kind in KINDS if kind in diff.counts and kind not in APART
    )
    yield from _indented(Text(counted or "nothing to compare"), 2, out)
    apart = ", ".join(f"{diff.counts[kind]} {KIND_WORDS[kind]}" for kind in APART if kind in diff.counts)
    if apart:
        yield from _indented(Text(f"not included: {apart}", style="yellow"), 2, out)
    if words := checks_words(diff):
        yield from _indented(Text(printable(words, 600), style="yellow"), 2, out)
    yield from _indented(Text(printable(set_up_words(diff), 400)), 2, out)
    yield Text("")


def _indented(text: Text, by: int, out: Console) -> Iterator[Text]:
    """The text in lines that fit, broken between words."""
    for line in text.wrap(out, out.width - by):
        yield Text(" " * by) + line


def _totals(totals: RunTotals, *, cases: int) -> str:
    score = "–" if totals.score is None else f"{totals.score:.3f}"
    version = f"  {totals.version}" if totals.version else ""
    tried = " trials" if totals.trials > cases else ""
    return f"{totals.passed} of {totals.trials}{tried} passed  score {score}{version}"


def _change(change: CaseChange, out: Console) -> Iterator[Text]:
    glyph, style = GLYPHS.get(change.kind, ("·", "dim"))
    words = change_words(change)
    room = max(SHORTEST, min(LONGEST_TITLE, out.width - len(words) - 4))
    line = Text(f"{glyph} ", style=style)
    line.append(shortened(change.title or change.test_case_id, room), style="bold")
    line.append(f"  {words}", style=style)
    yield line
    if change.title and change.title != change.test_case_id:
        yield whole(f"   {change.test_case_id}", "dim")
    if change.output_diff is not None:
        yield from _indented(_output(change.output_diff, coloured=out.color_system is not None), 3, out)


def _output(parts: tuple[DiffPart, ...], *, coloured: bool) -> Text:
    """The output with its changes marked: by colour and line on a terminal, by brackets in a pipe."""
    if all(part.op == "equal" for part in parts):
        return Text("same output", style="dim")
    line = Text()
    for at, part in enumerate(parts):
        if len(line.plain) > LONGEST:
            line.append("…", style="dim")
            break
        line.append_text(_stretch(part, first=at == 0, last=at == len(parts) - 1, coloured=coloured))
    return line


def _stretch(part: DiffPart, *, first: bool, last: bool, coloured: bool) -> Text:
    if part.op == "equal":
        return Text(_context(part.text, first=first, last=last), style="dim")
    text = printable(part.text, LONGEST // 2)
    if part.op == "delete":
        return Text(text, style="red strike") if coloured else Text(f"[-{text}-]")
    return Text(text, style="green underline") if coloured else Text(f"{{+{text}+}}")


def _context(text: str, *, first: bool, last: bool) -> str:
    """Returns what both have, as much as helps to find the place."""
    room = CONTEXT if first or last else 2 * CONTEXT
    if len(text) <= room:
        return printable(text, room + 1)
    head = "" if first else printable(text[:CONTEXT], CONTEXT + 1)
    tail = "" if last else printable(text[-CONTEXT:], CONTEXT + 1)
    return f"{head} … {tail}"
