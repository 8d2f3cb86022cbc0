"""Runs as a person reads them in a terminal. Text under test is shown as text: no markup, no control characters."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from pydantic import JsonValue
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from minions_evals_mcp.domain.conversations import messages_of
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import first_named, minute, one_line, with_short_ids
from minions_evals_mcp.engine.answers.names import named
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.report.chat import chat_lines
from minions_evals_mcp.report.columns import TableColumn, fitting, show_columns
from minions_evals_mcp.report.failed_cases import ALIKE, WHOLE, failures_table, unscored_list
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.next_command import next_command, next_line
from minions_evals_mcp.report.plain import hanging, printable, shortened
from minions_evals_mcp.report.screen import LONGEST, console, on_screen, whole
from minions_evals_mcp.report.sentences import (
    evidence_words,
    instead_words,
    passed_words,
    run_look,
    run_sign,
    run_verdict,
    standing,
    trend_words,
    trust,
)
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.run_lines import RunLine

VERSION = 24
"""So much of a version's name stands in a list."""


def show_run(summary: RunSummary, *, store: Path | None = None, place: str = "") -> None:
    """A run: the verdict, the next command, then what changed, what failed and what waits; `place` says where it is kept."""
    out = console()
    verdict, *figures = headline(summary, out.width, store)
    out.print(Group(verdict), crop=False)  # in a group it keeps its own rule of wrapping
    for line in _following(summary, store):
        out.print(Text(on_screen(line, out)), soft_wrap=True)
    out.print(Group(*figures), crop=False)
    if summary.regression is not None:
        out.print(regression_panel(summary.regression, out.width, summary.fall), crop=False)
    elif summary.fall is not None:
        out.print(Text(f"Fall: {summary.fall['summary']}", style="bold"), soft_wrap=True)
    if summary.failures:
        out.print(failures_table(summary, out.width, store))
    if summary.unscored:
        out.print(unscored_list(summary, out.width), crop=False)
    for line in _trust(summary):
        out.print(Text(on_screen(printable(in_store(line, store), 500), out), style="dim"), soft_wrap=True)
    for line in _closing(summary, store, place):
        out.print(Text(on_screen(line, out)), soft_wrap=True)


SHORT = 8
"""So much of a run's id stands for it in a list; every command takes it."""


def short_ids(idents: Sequence[str]) -> list[str]:
    """The beginnings of the ids, each long enough to tell it from the others."""
    shown: list[str] = []
    for ident in idents:
        length = SHORT
        while sum(other.startswith(ident[:length]) for other in idents) > 1 and length < len(ident):
            length += 1
        shown.append(ident[:length])
    return shown


def show_jobs(lines: Sequence[RunLine], names: Mapping[str, str], changes: Mapping[str, str]) -> None:
    """Runs, a line for each, the newest first; `names` are of subjects and versions, `changes` verdicts beside the run before."""
    jobs = [line.job for line in lines]
    columns = [
        TableColumn("run", short_ids([job.id for job in jobs])),
        TableColumn("state", [_state(job) for job in jobs], 1),
        TableColumn("of", [printable(named(names, job.subject_id), LONGEST) for job in jobs]),
        TableColumn("score", ["" if line.score is None else f"{line.score:.3f}" for line in lines], right=True),
        TableColumn(
            "passed",
            ["" if line.total_count is None else f"{line.passed_count} of {line.total_count}" for line in lines],
            1,
        ),
        TableColumn("change", [changes.get(job.id, "") for job in jobs], 3),
        TableColumn("at", [minute(job.created_at) for job in jobs], 2),
        TableColumn("version", [shortened(named(names, line.version), VERSION) for line in lines], 3),
        TableColumn("target", [printable(line.target or "", 24) for line in lines], 4),
        TableColumn(
            "cost", ["" if line.cost_usd is None else f"${line.cost_usd:.4f}" for line in lines], 4, right=True
        ),
        TableColumn("kind", [job.kind for job in jobs], 7),
    ]
    out = console()
    columns.append(TableColumn("reason", [printable(job.reason, LONGEST) for job in jobs], 8))
    shown = [column for column in columns if any(column.cells) or column.leave <= 1]
    if columns[-1] in fitting(shown, out.width):
        show_columns(out, shown)
        return
    show_columns(out, shown[:-1])
    for line in _reasons(jobs, short_ids([job.id for job in jobs])):
        out.print(Text(on_screen(line, out), style="dim"), soft_wrap=True)


def _reasons(jobs: Sequence[Job], idents: Sequence[str]) -> Iterator[str]:
    """Yields why runs have no figures, under a table that has no room for it: the same reason once."""
    alike: dict[str, list[str]] = {}
    for job, ident in zip(jobs, idents, strict=True):
        if job.reason:
            alike.setdefault(one_line(printable(job.reason, WHOLE), 200), []).append(ident)
    for reason, named_runs in alike.items():
        yield f" {first_named(named_runs, ALIKE)}: {reason}"


def _state(job: Job) -> str:
    """Returns the state of a run in a word; one that stands as running and has a reason has lost its process."""
    return "killed" if job.state == "running" and job.reason else job.state


def _following(summary: RunSummary, store: Path | None) -> list[str]:
    """The command that follows: where the run stopped, what resumes it."""
    if summary.state == "stopped":
        return [f"Next: the same command with --key {printable(summary.key, 200)}. Progress is saved."]
    command = next_command(summary)
    return [next_line(command, store)] if command else []


def _trust(summary: RunSummary) -> list[str]:
    """What is known of judge and checks; where the audit is the next command already, it is not named again."""
    audit = summary.audit
    is_named = audit is not None and next_command(summary) == f"audit {summary.subject_id}"
    return [audit.in_words if audit and is_named and line == audit.sentence else line for line in trust(summary)]


def headline(summary: RunSummary, width: int, store: Path | None = None, *, verdict: bool = True) -> list[Text]:
    """What the run came to in one line, then its figures; without `verdict` the caller has printed one."""
    lines: list[Text] = []
    fields = summary.benchmark_run
    if fields is not None:
        lines.append(_score_line(summary, fields, width, verdict=verdict))
        lines.append(_interval_line(fields, summary, width))
    elif summary.test_runs:
        lines.extend(line for run in summary.test_runs for line in _case_lines(run, width))
    else:
        lines.append(Text(f"{summary.subject_id} {standing(summary)}"))
        if summary.reason and summary.state != "awaiting-judgments":  # said already
            lines.append(Text(f"  {one_line(printable(in_store(summary.reason, store), WHOLE))}", style="dim"))
    return lines


BARS = (24, 12, 6)
"""The widths of the bar behind a verdict: the widest that fits is drawn."""
ROOMY = 90
"""The columns of a terminal that has room for the widest."""
UNJUDGED = "has run"


def _score_line(summary: RunSummary, fields: Json, width: int, *, verdict: bool) -> Text:
    passed, total = _int(fields["passedCount"]), _int(fields["totalCount"])
    look = run_look(summary)
    style = {"bad": "red", "warn": "yellow"}.get(look, "green")
    said = run_verdict(summary) if verdict else UNJUDGED
    text = whole("")
    if verdict and look:
        text.append(f"{run_sign(summary)} ", style=f"bold {style}")
    text.append(named(summary.names, summary.subject_id) + ("  " if said == UNJUDGED else f" {said}  "), style="bold")
    figures = whole(passed_words(summary, fields), style="bold")
    if fields.get("selection"):
        figures.append(" (chosen cases only)", style="yellow")
    figures.append(f"  score {_float(fields['overallScore']):.3f}", style="not bold")
    bars = BARS if width >= ROOMY else BARS[1:]
    bar = next((bar for bar in bars if text.cell_len + bar + 2 + figures.cell_len <= width), 0)
    full = round(passed / total * bar)
    if bar:
        text.append("█" * full + "░" * (bar - full) + "  ", style=style)
    text.append_text(figures)
    if summary.outputs:
        text.append(f"  {printable(summary.outputs, 160)}", style="dim")
    return text


def _interval_line(fields: Json, summary: RunSummary, width: int) -> Text:
    version = fields.get("promptVersionRef")
    parts = [named(summary.names, str(version))] if version else []
    if instead := instead_words(fields):
        parts.append(printable(instead, 160))
    interval = fields.get("passRateCi")
    if isinstance(interval, list):
        low, high = (_float(end) for end in interval)
        parts.append(f"pass rate {_float(fields['passRate']):.0f} % (95 %: {low:.0f}–{high:.0f} %)")
    if summary.minimum_detectable is not None:
        parts.append(f"a comparison detects a difference of {summary.minimum_detectable:.2g} or more")
    if summary.bounds is not None and summary.bounds.worst != summary.bounds.best:
        parts.append(f"{summary.bounds.worst:.0f}–{summary.bounds.best:.0f} % if unscored cases are counted")
    if summary.trend is not None:
        parts.append(trend_words(summary.trend))
    notes = str(fields.get("notes") or "").removeprefix(summary.outputs).removeprefix("; ")
    if notes:
        parts.append(printable(with_short_ids(notes), 160))
    lines = wrap("; ".join(parts), max(20, width - 2), break_long_words=False, break_on_hyphens=False)
    return Text("\n".join(f"  {line}" for line in lines), style="dim")


def _case_lines(run: Json, width: int) -> Iterator[Text]:
    passed = run["passed"] is True
    line = whole("✓ passed" if passed else "✗ failed", style="green" if passed else "red")
    line.append(
        f"  {run['testCaseId']}  {_float(run['totalScore']):g} of {_float(run['maxPossibleScore']):g}", style="default"
    )
    yield line
    yield from map(whole, chat_lines(messages_of(run.get("actualOutput")) or (), width))
    judged = run.get("judgments")
    for judgment in judged if isinstance(judged, list) else []:
        if isinstance(judgment, dict):
            yield whole(f"  {judgment['criterionId']}: {_float(judgment['score']):g} by {judgment['judgedBy']}")
            yield Text(hanging(f"    {printable(str(judgment['rationale']), 240)}", width), style="dim")


def regression_panel(regression: Json, width: int, fall: Json | None = None) -> Group:
    """The regression in words, whether it is more than noise, and the cases behind it."""
    text = Text(printable(str(regression["summary"]).partition(" The run before: ")[0], 500))
    text.append(f"\n{evidence_words(regression, fall)}", style="dim")
    if "noiseFloor" in regression:
        within = "within" if regression["withinNoiseFloor"] else "more than"
        fell, floor = _float(regression["scoreFell"]), _float(regression["noiseFloor"])
        text.append(f"\nthe score dropped by {fell:.3f}, {within} the noise floor of {floor:.3f}", style="dim")
    panel = Panel(text, title="regression", title_align="left", border_style="red")
    failing = regression["newlyFailing"]
    if not isinstance(failing, list) or not failing:
        return Group(panel)
    worse = max(len(failing), int(_float(regression.get("worse", 0))))  # so many got worse; the first of them are named
    more = f" and {worse - 8} more" if worse > 8 else ""
    since = regression.get("fallenSince")
    label = "newly failing" if since is None else f"failing since {str(since)[:SHORT]}"
    named = f"{label}: {', '.join(printable(str(case_id)) for case_id in failing[:8])}{more}"
    # Below the panel, which would break a long id.
    lines = wrap(
        named, width, initial_indent=" ", subsequent_indent=" ", break_long_words=False, break_on_hyphens=False
    )
    return Group(panel, *map(whole, lines))


def show_demo(summaries: Sequence[RunSummary], *, records: int, db: str) -> None:
    """The demo's two runs, what changed between them, and how to go on."""
    out = console()
    out.print(Text(f"{records} records: test cases, rubrics and recorded agent-runs of a support agent", style="dim"))
    out.print()
    for title, summary in zip(("1  The original prompt", "2  After a careless edit"), summaries, strict=True):
        out.print(Text(title, style="bold cyan"))
        out.print(Group(*headline(summary, out.width)), crop=False)
        out.print()
    last = summaries[-1]
    if last.regression is not None:
        out.print(regression_panel(last.regression, out.width, last.fall), crop=False)
    if last.failures:
        out.print(failures_table(last, out.width))
    out.print()
    out.print(f"Saved in {db}", style="dim", markup=False, soft_wrap=True)
    for label, command in (
        ("notifications", f"outbox --db {shlex.quote(db)}"),
        ("failure details", f"classify {shlex.quote(last.failures[0].test_run_id)} --db {shlex.quote(db)}")
        if last.failures
        else ("every run", f"runs --db {shlex.quote(db)}"),
        ("your own suite", "import SUITE.yaml, then run-benchmark ID"),
    ):
        out.print(Text.assemble((f"{label}: ", "dim"), f"minions-evals {command}"), soft_wrap=True)


def _closing(summary: RunSummary, store: Path | None, place: str) -> list[str]:
    lines = [in_store(line, store) for line in _waiting(summary)]
    spent = summary.spent
    if spent.get("calls"):
        cost = (
            f", ${spent.get('costUsd', 0) - spent.get('ownCostUsd', 0):.4f}"
            if not spent.get("unpricedCalls")
            else ", price unknown"
        )
        faults = sum(int(number) for name, number in spent.items() if name.startswith("fault:"))
        lines.append(
            f"{int(spent['calls'])} model calls{cost}" + (f", {faults} faults met and retried" if faults else "")
        )
    if unanswered := int(spent.get("unansweredCalls", 0)):
        lines.append(f"up to {unanswered} more model calls were in flight and are lost. They may be billed")
    if cut_off := int(spent.get("unansweredOutputs", 0)):
        calls = "1 call to the target was" if cut_off == 1 else f"{cut_off} calls to the target were"
        lines.append(f"{calls} cut off without an answer, at unknown cost")
    if own := spent.get("ownCostUsd"):
        lines.append(f"the target reported ${own:.4f} for its outputs")
    if untold := int(spent.get("untoldCosts", 0)):
        lines.append(
            f"not capped: of {untold} {'output' if untold == 1 else 'outputs'} the target reported no cost (costUsd)"
        )
    lines.extend(_workers(summary))
    lines.append(f"run {summary.run_id}{place}")
    return lines


SHOWN_WORKERS = 8


def _workers(summary: RunSummary) -> list[str]:
    """Returns what the workers of a cluster did, the busiest first."""
    lines = [
        f"{line.worker}: {line.returned} units, {line.per_second:.0f} a second"
        + (f", {line.out} out" if line.out else "")
        + (f", {line.lost_chunks} chunks lost with it" if line.lost_chunks else "")
        for line in summary.workers
    ]
    more = [f"and {len(lines) - SHOWN_WORKERS} more workers"] if len(lines) > SHOWN_WORKERS else []
    return [printable(line, 200) for line in lines[:SHOWN_WORKERS]] + more


def _waiting(summary: RunSummary) -> list[str]:
    """Returns what waits, and the command that takes it: an output without anything to judge it by can only be accepted."""
    bare = [packet for packet in summary.packets if packet.wants_baseline]
    judged = len(summary.packets) + summary.more_packets - len(bare)
    lines: list[str] = []
    if bare:
        lines.append(
            f"{_outputs(len(bare), 'has', 'have')} no check: `minions-evals accept CASE` makes one the expected output. Assertions or a"
            " rubric check every run."
        )
    if users := len(summary.user_packets):
        lines.append(
            f"{_talks(users)} for the next message of the user: minions-evals runs {summary.run_id} --json shows the requests. Answer with"
            " `submit`: {runId, packets: [{digest, message}]}."
        )
    if judged:
        lines.append(
            f"{_outputs(judged, 'waits', 'wait')} to be judged: minions-evals runs {summary.run_id} --json shows the requests, `submit`"
            " answers them. `minions-evals judge` asks a person."
        )
    return lines


def _talks(number: int) -> str:
    return "1 conversation waits" if number == 1 else f"{number} conversations wait"


def _outputs(number: int, word: str, several: str) -> str:
    return f"1 output {word}" if number == 1 else f"{number} outputs {several}"


def _int(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value


def _float(value: JsonValue) -> float:
    assert isinstance(value, int | float)
    return float(value)
