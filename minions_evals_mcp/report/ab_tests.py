"""A/B tests as a person reads them in a terminal: who wins, by what, how sure that is, and what each branch cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.text import Text

from minions_evals_mcp.domain.definitions import TestBranch
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.ab_test.branches import BranchConfiguration
from minions_evals_mcp.engine.ab_test.run_ab_test import AbBranch, AbTestResult
from minions_evals_mcp.report.ab_words import (
    UNKNOWN,
    against,
    between,
    dollars,
    fails_its_checks,
    figure,
    how_sure,
    ms,
    percent,
    score,
)
from minions_evals_mcp.report.columns import TableColumn, show_columns
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.next_command import next_line
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.screen import console
from minions_evals_mcp.stats.paired import FEWEST_CHANGED

NAME, MODEL, OUTPUT = 32, 28, 60


def show_ab_test(result: AbTestResult, *, store: Path | None = None) -> None:
    """The A/B test on stdout: who wins, the next command, the figures."""
    out = console()
    out.print(_headline(result), soft_wrap=True)
    out.print(Text(_next(result, store)), soft_wrap=True)
    if line := how_sure(result):
        out.print(Text(f"  {line}"), soft_wrap=True)
    show_columns(out, _columns(result))
    for line in _closing(result):
        out.print(Text(line, style="dim"), soft_wrap=True)


def _next(result: AbTestResult, store: Path | None) -> str:
    """The page, which shows the outputs, where the test is decided or nothing came; else the same test, longer."""
    if result.winner is None or result.evidence == "supported" or result.state != "completed":
        return next_line("view", store)
    return f"Next: the same command with --iterations {max(FEWEST_CHANGED, 2 * result.iterations)}"


def _headline(result: AbTestResult) -> Text:
    if result.winner is None:
        return Text(f"NO WINNER by {result.criteria}", style="bold yellow")
    first = result.branches[0]
    text = Text(f"{shortened(first.branch_name, NAME)} wins", style="bold green")
    text.append(f"  by {result.criteria} ({figure(result, first)}), {printable(first.model)}", style="default")
    return text.append(printable(fails_its_checks(result), 200), style="bold yellow")


def _columns(result: AbTestResult) -> list[TableColumn]:
    made = result.branches
    return [
        TableColumn("", [str(branch.rank) for branch in made], right=True),
        TableColumn(
            "branch",
            [shortened(branch.branch_name, NAME) + (" (control)" if branch.is_control else "") for branch in made],
        ),
        TableColumn("model", [shortened(branch.model, MODEL) for branch in made], 4),
        TableColumn("quality", [score(branch.quality_score) for branch in made], right=True),
        TableColumn("95 %", [between(branch.quality_interval, score) for branch in made], 8, right=True),
        TableColumn("passed", [percent(branch.pass_rate) for branch in made], 1, right=True),
        TableColumn("checks", [_checks(branch) for branch in made], 1, right=True),
        TableColumn("latency", [ms(branch.latency_ms) for branch in made], 2, right=True),
        TableColumn("median", [ms(branch.median_latency_ms) for branch in made], 6, right=True),
        TableColumn("p95", [ms(branch.p95_latency_ms) for branch in made], 6, right=True),
        TableColumn("first token", [ms(branch.time_to_first_token) for branch in made], 6, right=True),
        TableColumn("tokens/s", [_rate(branch.tokens_per_second) for branch in made], 7, right=True),
        TableColumn("cost each", [dollars(branch.estimated_cost) for branch in made], 3, right=True),
        TableColumn("total cost", [dollars(branch.total_cost) for branch in made], 5, right=True),
        TableColumn("first in" if result.iterations > 1 else "", [_fate(result, branch) for branch in made], 1),
    ]


def _checks(branch: AbBranch) -> str:
    return "" if branch.checks_passed is None else f"{branch.checks_passed} of {branch.checked}"


def _fate(result: AbTestResult, branch: AbBranch) -> str:
    """Returns how often the branch won, and how often it failed."""
    won = (
        f"{branch.wins} of {result.completed_iterations} ({100 * branch.win_share:.0f} %)"
        if result.iterations > 1
        else ""
    )
    failed = "" if not branch.failures else "failed" if branch.runs == 1 else f"failed {branch.failures} times"
    return "  ".join(part for part in (won, failed) if part)


def _closing(result: AbTestResult) -> list[str]:
    lines = [f"{result.note[0].upper()}{result.note[1:]}."] if result.note else []
    control = next((branch for branch in result.branches if branch.against_control is None), None)
    for branch in result.branches:
        if control is not None and (comparison_words := against(branch)):
            names = f"{shortened(branch.branch_name, NAME)} against {shortened(control.branch_name, NAME)}"
            lines.append(f"{names}: {comparison_words}")
    for branch in result.branches:
        error = (branch.execution or {}).get("error")
        if isinstance(error, str):
            lines.append(f"{shortened(branch.branch_name, NAME)}: {printable(error, 300)}")
    pick = result.max_score
    if pick is not None:
        named = {branch.branch_id: shortened(branch.branch_name, NAME) for branch in result.branches}
        selected = "none" if pick.selected is None else named[pick.selected]
        lines.append(f"max-score selects {selected}" if not pick.problem else f"max-score: {printable(pick.problem)}")
    left_out = sorted({name for branch in result.branches for name in branch.not_sent})
    if left_out:
        lines.append(
            f"Not sent, because the provider refuses it: {', '.join(left_out)}. The provider's own default applies."
        )
    version = "" if result.prompt_version is None else f", prompt version {result.prompt_version}"
    lines.append(f"run {result.run_id}{version}")
    return lines


def show_branches(
    case_id: str,
    branches: Sequence[Record[TestBranch]],
    configured: Mapping[str, Sequence[BranchConfiguration]],
    store: Path | None,
) -> None:
    """The branches of a test case with what their executions add up to, and what they did under earlier configurations."""
    if not branches:
        nothing = in_store(f"{case_id} has no branches. Add some with `minions-evals import FILE`", store)
        console().print(Text(nothing), soft_wrap=True)
        return
    branch_fields = [record.fields for record in branches]
    columns = [
        TableColumn("id", [record.id for record in branches]),
        TableColumn("branch", [shortened(branch.name, NAME) + _marks(branch) for branch in branch_fields], 2),
        TableColumn("model", [shortened(f"{branch.provider}:{branch.model}", MODEL) for branch in branch_fields], 5),
        TableColumn("runs", [str(branch.total_runs) for branch in branch_fields], 1, right=True),
        TableColumn(
            "pass rate",
            [UNKNOWN if branch.pass_rate is None else f"{branch.pass_rate:.0f} %" for branch in branch_fields],
            3,
            right=True,
        ),
        TableColumn("quality", [score(branch.avg_quality_score) for branch in branch_fields], 1, right=True),
        TableColumn("latency", [ms(branch.avg_latency) for branch in branch_fields], 6, right=True),
        TableColumn("tokens/s", [_rate(branch.avg_tokens_per_sec) for branch in branch_fields], 9, right=True),
        TableColumn("cost", [dollars(branch.avg_cost) for branch in branch_fields], 7, right=True),
        TableColumn("inconsistency", [score(branch.consistency_score) for branch in branch_fields], 8, right=True),
    ]
    out = console()
    show_columns(out, columns)
    for record in branches:
        for earlier in configured.get(record.id, ())[1:]:
            out.print(Text(f"  {record.id} before: {_configuration(earlier)}", style="dim"), soft_wrap=True)


def _configuration(made: BranchConfiguration) -> str:
    """A configuration with its version, and the figures of its executions."""
    configuration = dict(made.configuration or {})
    model = f"{configuration.pop('provider', '?')}:{configuration.pop('model', '?')}"
    sent = [f"{name} {value}" for name, value in configuration.items()]
    version = [] if made.prompt_version is None else [f"version {made.prompt_version}"]
    figures = (
        f"{made.runs} runs" + (f" ({made.errors} failed)" if made.errors else ""),
        f"{percent(made.pass_rate)} passed",
        f"quality {score(made.avg_quality_score)}",
        ms(made.avg_latency),
        dollars(made.avg_cost),
    )
    return printable(", ".join((model, *sent, *version)), 200) + ": " + ", ".join(figures)


def _marks(branch: TestBranch) -> str:
    return (" (control)" if branch.is_control else "") + ("" if branch.is_active else " (off)")


def show_executions(branch_id: str, made: Sequence[Record[TestBranchExecution]], store: Path | None) -> None:
    """The executions of a branch, a line each."""
    out = console()
    for record in made:
        execution = record.fields
        figures = f"{score(execution.quality_score)}  {ms(execution.latency_ms)}  {dollars(execution.estimated_cost)}"
        shown = execution.output if execution.error is None else execution.error
        out.print(
            Text(f"{iso(record.created_at)}  {execution.status:<7}  {figures}  {shortened(shown, OUTPUT)}"),
            soft_wrap=True,
        )
    if not made:
        nothing = in_store(f"{branch_id} has no executions here. Create some with `minions-evals ab-test`", store)
        out.print(Text(nothing), soft_wrap=True)


def _rate(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"
