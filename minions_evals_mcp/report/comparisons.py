"""A comparison as a person reads it in a terminal: the decision first, then how sure it is, then what moved."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.engine.answers.comparison_summary import ChangedCase, ComparisonSummary
from minions_evals_mcp.engine.answers.names import in_sentence
from minions_evals_mcp.engine.conclude.setup import changes_sentence
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.next_command import next_line
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.screen import console, on_screen
from minions_evals_mcp.stats.comparison import METHOD_WORDS

STYLE = {"improved": "bold green", "regressed": "bold red", "equivalent": "bold", "inconclusive": "bold yellow"}
TITLE, CRITERIA = 40, 5


def show_comparison(
    summary: ComparisonSummary, *, store: Path | None = None, place: str = "", explain: bool = False
) -> None:
    """The comparison on stdout: verdict, next step, figures; `explain` adds the method, `place` says where it is kept."""
    out = console()
    verdict = f"{summary.verdict.upper()}  {printable(summary.in_words, 400)}"
    out.print(Text(on_screen(verdict, out), style=STYLE[summary.verdict]), soft_wrap=True)
    for line in [next_line(after_comparison(summary), store), *_figures(summary)]:
        out.print(Text(on_screen(line, out)), soft_wrap=True)
    for title, cases in (("worse", summary.worse), ("better", summary.better)):
        if cases:
            out.print(Text(f"{title}:", style="bold"))
            for case in cases:
                out.print(_case(case))
    if summary.more_changed:
        out.print(Text(f"  and {summary.more_changed} more changed", style="dim"))
    if summary.judge is not None:
        judged = printable(in_store(str(summary.judge.brief()["inWords"]), store), 500)
        out.print(Text(on_screen(judged, out), style="dim"), soft_wrap=True)
    for line in [*_closing(summary, place), *(_method(summary) if explain else ())]:
        out.print(Text(on_screen(line, out), style="dim"), soft_wrap=True)


def _figures(summary: ComparisonSummary) -> list[str]:
    passes = summary.passes
    a, b = (in_sentence(summary.names, version) for version in (summary.version_a, summary.version_b))
    low, high = (100 * end for end in passes.interval)
    score_a, score_b = summary.compared_scores
    over = ""
    if summary.pooled or summary.stored_results:
        over = f" over {'all stored results' if summary.stored_results else f'{len(summary.pooled) + 1} comparisons'}; in these two runs"
    return [
        f"  {a}: score {score_a:.3f}{over or ','} {passes.a} of {passes.units_a} passed",
        f"  {b}: score {score_b:.3f}{over or ','} {passes.b} of {passes.units_b} passed",
        f"  passes: {passes.gained} gained, {passes.lost} lost, {100 * passes.delta:+.0f} points"
        f" (95 %: {low:+.0f} to {high:+.0f}, p = {passes.p_value:.2g})",
    ]


def _method(summary: ComparisonSummary) -> list[str]:
    """How the verdict was reached: test, level, attempt, max-score, criteria, and the runs."""
    a, b = (in_sentence(summary.names, version) for version in (summary.version_a, summary.version_b))
    pooled = f", {len(summary.pooled) + 1} comparisons pooled" if summary.pooled else ""
    lines = [
        f"method: {METHOD_WORDS.get(summary.method, summary.method)}",
        f"  significance level {summary.level:.3g}, attempt {summary.attempt} to beat {a}{pooled}",
        f"  winner by score: {in_sentence(summary.names, summary.winner)}",
    ]
    if picked := summary.max_score:
        lines.append(f"  max-score selects {a} in {picked.a} of the cases, {b} in {picked.b}")
    moved = [criterion for criterion in summary.criteria if criterion.delta]
    for line in moved[:CRITERIA]:
        low, high = line.interval
        lines.append(
            f"  {shortened(line.title, TITLE)}: {line.delta:+.2f} "
            f"(among all criteria 95 %: {low:+.2f} to {high:+.2f}, p = {line.p_value:.2g})"
        )
    if left := len(summary.criteria) - min(len(moved), CRITERIA):
        lines.append(
            f"  {left} other {'criterion' if left == 1 else 'criteria'}"
            + (" did not change" if len(moved) <= CRITERIA else "")
        )
    return [*lines, f"  run {summary.run_a} of {summary.version_a}", f"  run {summary.run_b} of {summary.version_b}"]


def _case(case: ChangedCase) -> Text:
    mark = {"gained": "passes now", "lost": "fails now", "": ""}[case.flipped]
    text = Text(f"  {shortened(printable(case.title), TITLE):<{TITLE}}  {case.score_a:.2f} → {case.score_b:.2f}  ")
    text.append(mark, style="green" if case.flipped == "gained" else "red")
    return text


def _closing(summary: ComparisonSummary, place: str) -> list[str]:
    lines = [printable(changes_sentence(summary.what_changed), 400)]
    if summary.caution:
        lines.append(f"Caution: {summary.caution}.")
    if summary.settle:
        lines.append(f"To decide: {summary.settle}.")
    return [*lines, f"comparison {summary.comparison_id}{place}"]


def after_comparison(summary: ComparisonSummary) -> str:
    """The command that follows from the verdict."""
    wins = (summary.verdict, summary.winner) == ("improved", summary.version_b)
    if wins and summary.current_version == summary.version_a:
        return f"approve {summary.version_b} --by YOU"
    return f"diff {short_id(summary.run_a)} {short_id(summary.run_b)}"
