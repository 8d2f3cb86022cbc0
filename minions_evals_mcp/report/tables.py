"""Answers as a person reads them in a terminal. Text under test is shown as text: no markup, no control characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers import FailureLine, RunSummary
from minions_evals_mcp.report.plain import printable

SEVERITY = {"critical": "bold red", "major": "yellow", "minor": "dim"}
EVIDENCE = {
    "supported": "more than noise (exact McNemar test, p ≤ .05)",
    "within-noise": "could be noise: the exact McNemar test cannot tell it from chance",
    "undecidable": "too few cases changed to tell it from chance",
}
BAR = 24


def console() -> Console:
    """The terminal, or a pipe that gets plain text."""
    return Console(highlight=False, soft_wrap=False)


def show_run(summary: RunSummary) -> None:
    """A run: the figures first, then what changed, then what failed, then what waits."""
    out = console()
    out.print(headline(summary))
    if summary.regression is not None:
        out.print(regression_panel(summary.regression))
    if summary.failures:
        out.print(failures_table(summary))
    if summary.unscored:
        out.print(unscored_table(summary))
    for line in _closing(summary):
        out.print(Text(line))


def headline(summary: RunSummary) -> Group:
    """What the run came to, in one or two lines."""
    lines: list[Text] = []
    found = summary.benchmark_run
    if found is not None:
        lines.append(_score_line(summary.subject_id, found))
        lines.append(_interval_line(found, summary))
    elif summary.test_runs:
        lines.extend(_case_line(run) for run in summary.test_runs)
    else:
        counted = ", ".join(f"{number} {name}" for name, number in summary.outcomes.items()) or "nothing yet"
        lines.append(Text(f"{summary.subject_id}: {summary.state} ({counted} of {summary.units})"))
        if summary.reason:
            lines.append(Text(f"  {printable(summary.reason, 300)}", style="dim"))
    return Group(*lines)


def _score_line(subject: str, found: Json) -> Text:
    passed, total = _int(found["passedCount"]), _int(found["totalCount"])
    share = passed / total
    bar = "█" * round(share * BAR) + "░" * (BAR - round(share * BAR))
    good = found["passed"] is True
    text = Text()
    text.append(f"{subject}  ", style="bold")
    text.append(bar, style="green" if good else "red")
    text.append(f"  {passed} of {total} passed", style="bold")
    text.append(f"  score {_float(found['overallScore']):.3f}")
    version = found.get("promptVersionRef")
    if version:
        text.append(f"  {version}", style="dim")
    return text


def _interval_line(found: Json, summary: RunSummary) -> Text:
    parts: list[str] = []
    interval = found.get("passRateCi")
    if isinstance(interval, list):
        low, high = (_float(end) for end in interval)
        parts.append(f"pass rate {_float(found['passRate']):.0f} % (95 %: {low:.0f}–{high:.0f} %)")
    if summary.bounds is not None and summary.bounds.worst != summary.bounds.best:
        parts.append(f"with what was not scored: {summary.bounds.worst:.0f}–{summary.bounds.best:.0f} %")
    if summary.trend is not None:
        parts.append(f"trend {summary.trend['direction']}{' (provisional)' if summary.trend['provisional'] else ''}")
    if found.get("notes"):
        parts.append(printable(str(found["notes"]), 160))
    return Text("  " + "; ".join(parts), style="dim")


def _case_line(run: Json) -> Text:
    passed = run["passed"] is True
    text = Text("✓ passed" if passed else "✗ failed", style="green" if passed else "red")
    text.append(
        f"  {run['testCaseId']}  {_float(run['totalScore']):g} of {_float(run['maxPossibleScore']):g}", style="default"
    )
    judged = run.get("judgments")
    for one in judged if isinstance(judged, list) else []:
        if isinstance(one, dict):
            text.append(f"\n  {one['criterionId']}: {_float(one['score']):g} by {one['judgedBy']}", style="default")
            text.append(f"\n    {printable(str(one['rationale']), 240)}", style="dim")
    return text


def regression_panel(regression: Json) -> Panel:
    """The regression in words, whether it is more than noise, and the cases behind it."""
    text = Text(printable(str(regression["summary"]), 500))
    text.append(f"\n{EVIDENCE[str(regression['evidence'])]}", style="dim")
    failing = regression["newlyFailing"]
    if isinstance(failing, list) and failing:
        text.append("\nnewly failing: " + ", ".join(str(one) for one in failing[:8]))
        if len(failing) > 8:
            text.append(f" and {len(failing) - 8} more")
    return Panel(text, title="regression", title_align="left", border_style="red")


def failures_table(summary: RunSummary) -> Table:
    """The failed cases with their causes, the gravest first."""
    shown, kinds = summary.failures, summary.failure_types
    counted = ", ".join(f"{number} {name}" for name, number in kinds.items())
    table = Table(
        title=f"failures: {counted}", title_justify="left", title_style="bold", expand=True, box=None, padding=(0, 1)
    )
    table.add_column("case", ratio=3)
    table.add_column("what", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("why", ratio=7)
    for one in shown:
        table.add_row(
            _title(one),
            Text(one.failure_type, style=SEVERITY[one.severity]),
            f"{one.score:.2f}/{one.possible:g}",
            _why(one),
        )
    return table


def _title(one: FailureLine) -> Text:
    text = Text(printable(one.title, 60))
    if one.trial > 1:
        text.append(f" (trial {one.trial})", style="dim")
    return text


def _why(one: FailureLine) -> Text:
    text = Text(printable(one.description, 150))
    if one.root_cause and not one.root_cause.startswith("There is no tool-call log"):
        text.append(f"\n{printable(one.root_cause, 150)}", style="dim")
    return text


def show_demo(summaries: Sequence[RunSummary], *, records: int, db: str) -> None:
    """The demo's two runs, what changed between them, and how to go on."""
    out = console()
    out.print(Text(f"{records} records: test cases, rubrics and recorded agent-runs of a support agent\n", style="dim"))
    for title, summary in zip(("1  The prompt as it was", "2  After a careless edit"), summaries, strict=True):
        out.print(Text(title, style="bold cyan"))
        out.print(headline(summary))
        out.print()
    last = summaries[-1]
    if last.regression is not None:
        out.print(regression_panel(last.regression))
    out.print(failures_table(last))
    out.print()
    out.print(Text(f"Kept in {db}: minions-evals outbox --db '{db}' shows what the orchestrator is told."))
    out.print(Text("Your turn: minions-evals import SUITE.yaml, then minions-evals run-benchmark ID."))


def unscored_table(summary: RunSummary) -> Table:
    """What has no verdict, and why: never counted as failed."""
    table = Table(title="not scored", title_justify="left", title_style="bold", expand=True, box=None, padding=(0, 1))
    table.add_column("case", ratio=3)
    table.add_column("outcome", no_wrap=True)
    table.add_column("why", ratio=6)
    for one in summary.unscored:
        table.add_row(Text(one.test_case_id), one.outcome, Text(printable(one.reason, 200), style="dim"))
    return table


def _closing(summary: RunSummary) -> list[str]:
    lines: list[str] = []
    waiting = len(summary.packets) + summary.more_packets
    if waiting:
        lines.append(
            f"{waiting} outputs wait to be judged: minions-evals runs {summary.run_id} --json shows the packets, submit takes them."
        )
    spent = summary.spent
    if spent.get("calls"):
        cost = f", ${spent.get('costUsd', 0):.4f}" if not spent.get("unpricedCalls") else ", price unknown"
        faults = sum(int(number) for name, number in spent.items() if name.startswith("fault:"))
        lines.append(
            f"{int(spent['calls'])} model calls{cost}" + (f", {faults} faults met and retried" if faults else "")
        )
    lines.append(f"run {summary.run_id}")
    return lines


def show_record(wire: Mapping[str, JsonValue]) -> None:
    """One record, field by field, and its relations."""
    out = console()
    title = Text(f"{wire['type']} {wire['id']}", style="bold")
    out.print(title)
    fields = wire["fields"]
    table = Table(show_header=False, box=None, padding=(0, 1))
    for name, value in fields.items() if isinstance(fields, dict) else ():
        table.add_row(Text(name, style="dim"), Text(printable(value if isinstance(value, str) else str(value), 600)))
    out.print(table)
    relations = wire.get("relations")
    for one in relations if isinstance(relations, list) else []:
        if isinstance(one, dict):
            out.print(Text(f"  {one['sourceId']} --{one['type']}--> {one['targetId']}", style="dim"))
    gates = wire.get("gates")
    for gate in gates if isinstance(gates, list) else []:
        if isinstance(gate, dict):
            held = "holds" if gate["holds"] else "does not hold"
            out.print(Text(f"  gate {gate['benchmarkId']} ≥ {gate['minScore']}: {held} (score {gate['score']})"))


def _int(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value


def _float(value: JsonValue) -> float:
    assert isinstance(value, int | float)
    return float(value)
