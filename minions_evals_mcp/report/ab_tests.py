"""A/B tests as a person reads them in a terminal: who wins, by what, how sure that is, and what each branch cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from minions_evals_mcp.domain.definitions import TestBranch
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.ab_test.branches import BranchConfiguration
from minions_evals_mcp.engine.ab_test.run_ab_test import AbBranch, AbTestResult
from minions_evals_mcp.report.ab_words import UNKNOWN, against, between, dollars, figure, how_sure, ms, percent, score
from minions_evals_mcp.report.columns import Column, show_columns
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.tables import console

NAME, MODEL, OUTPUT = 32, 28, 60


def show_ab_test(found: AbTestResult) -> None:
    """The A/B test on stdout."""
    out = console()
    out.print(_headline(found), soft_wrap=True)
    if line := how_sure(found):
        out.print(Text(f"  {line}"), soft_wrap=True)
    show_columns(out, _columns(found))
    for line in _closing(found):
        out.print(Text(line, style="dim"), soft_wrap=True)


def _headline(found: AbTestResult) -> Text:
    if found.winner is None:
        return Text(f"NO WINNER by {found.criteria}", style="bold yellow")
    first = found.branches[0]
    text = Text(f"{shortened(first.branch_name, NAME)} wins", style="bold green")
    return text.append(f"  by {found.criteria} ({figure(found, first)}), {printable(first.model)}", style="default")


def _columns(found: AbTestResult) -> list[Column]:
    made = found.branches
    return [
        Column("", [str(one.rank) for one in made], right=True),
        Column("branch", [shortened(one.branch_name, NAME) + (" (control)" if one.is_control else "") for one in made]),
        Column("model", [shortened(one.model, MODEL) for one in made], 4),
        Column("quality", [score(one.quality_score) for one in made], right=True),
        Column("95 %", [between(one.quality_interval, score) for one in made], 8, right=True),
        Column("passed", [percent(one.pass_rate) for one in made], 1, right=True),
        Column("latency", [ms(one.latency_ms) for one in made], 2, right=True),
        Column("first token", [ms(one.time_to_first_token) for one in made], 6, right=True),
        Column("tokens/s", [_rate(one.tokens_per_second) for one in made], 7, right=True),
        Column("cost each", [dollars(one.estimated_cost) for one in made], 3, right=True),
        Column("cost in all", [dollars(one.total_cost) for one in made], 5, right=True),
        Column("first in" if found.iterations > 1 else "", [_fate(found, one) for one in made], 1),
    ]


def _fate(found: AbTestResult, one: AbBranch) -> str:
    """How often the branch won, and how often it failed."""
    won = f"{one.wins} of {found.completed_iterations} ({100 * one.win_share:.0f} %)" if found.iterations > 1 else ""
    failed = "" if not one.failures else "failed" if one.runs == 1 else f"failed {one.failures} times"
    return "  ".join(part for part in (won, failed) if part)


def _closing(found: AbTestResult) -> list[str]:
    lines = [f"{found.note[0].upper()}{found.note[1:]}."] if found.note else []
    control = next((one for one in found.branches if one.against_control is None), None)
    for one in found.branches:
        if control is not None and (said := against(one)):
            names = f"{shortened(one.branch_name, NAME)} against {shortened(control.branch_name, NAME)}"
            lines.append(f"{names}: {said}")
    for one in found.branches:
        error = (one.execution or {}).get("error")
        if isinstance(error, str):
            lines.append(f"{shortened(one.branch_name, NAME)}: {printable(error, 300)}")
    pick = found.max_score
    if pick is not None:
        named = {one.branch_id: shortened(one.branch_name, NAME) for one in found.branches}
        selected = "none" if pick.selected is None else named[pick.selected]
        lines.append(f"max-score selects {selected}" if not pick.problem else f"max-score: {printable(pick.problem)}")
    left_out = sorted({name for one in found.branches for name in one.not_sent})
    if left_out:
        lines.append(f"Not sent, for a branch gave none: {', '.join(left_out)}; the provider's own defaults held.")
    version = "" if found.prompt_version is None else f", prompt version {found.prompt_version}"
    lines.append(f"run {found.run_id}{version}")
    return lines


def show_branches(
    case_id: str, found: Sequence[Record[TestBranch]], configured: Mapping[str, Sequence[BranchConfiguration]]
) -> None:
    """The branches of a test case with what their executions add up to, and what they did under earlier configurations."""
    if not found:
        console().print(Text(f"{case_id} has no branches; `minions-evals import FILE` brings some"), soft_wrap=True)
        return
    kept = [record.fields for record in found]
    columns = [
        Column("id", [record.id for record in found]),
        Column("branch", [shortened(one.name, NAME) + _marks(one) for one in kept], 2),
        Column("model", [shortened(f"{one.provider}:{one.model}", MODEL) for one in kept], 5),
        Column("runs", [str(one.total_runs) for one in kept], 1, right=True),
        Column(
            "pass rate", [UNKNOWN if one.pass_rate is None else f"{one.pass_rate:.0f} %" for one in kept], 3, right=True
        ),
        Column("quality", [score(one.avg_quality_score) for one in kept], 1, right=True),
        Column("latency", [ms(one.avg_latency) for one in kept], 6, right=True),
        Column("tokens/s", [_rate(one.avg_tokens_per_sec) for one in kept], 9, right=True),
        Column("cost", [dollars(one.avg_cost) for one in kept], 7, right=True),
        Column("inconsistency", [score(one.consistency_score) for one in kept], 8, right=True),
    ]
    out = console()
    show_columns(out, columns)
    for record in found:
        for earlier in configured.get(record.id, ())[1:]:
            out.print(Text(f"  {record.id} before: {_configuration(earlier)}", style="dim"), soft_wrap=True)


def _configuration(made: BranchConfiguration) -> str:
    """A configuration with its version, and the figures of its executions."""
    asked = dict(made.configuration or {})
    model = f"{asked.pop('provider', '?')}:{asked.pop('model', '?')}"
    sent = [f"{name} {value}" for name, value in asked.items()]
    version = [] if made.prompt_version is None else [f"version {made.prompt_version}"]
    figures = (
        f"{made.runs} runs" + (f" ({made.errors} failed)" if made.errors else ""),
        f"{percent(made.pass_rate)} passed",
        f"quality {score(made.avg_quality_score)}",
        ms(made.avg_latency),
        dollars(made.avg_cost),
    )
    return printable(", ".join((model, *sent, *version)), 200) + ": " + ", ".join(figures)


def _marks(one: TestBranch) -> str:
    return (" (control)" if one.is_control else "") + ("" if one.is_active else " (off)")


def show_executions(branch_id: str, made: Sequence[Record[TestBranchExecution]]) -> None:
    """The executions of a branch, a line each."""
    out = console()
    for record in made:
        one = record.fields
        figures = f"{score(one.quality_score)}  {ms(one.latency_ms)}  {dollars(one.estimated_cost)}"
        shown = one.output if one.error is None else one.error
        out.print(
            Text(f"{iso(record.created_at)}  {one.status:<7}  {figures}  {shortened(shown, OUTPUT)}"), soft_wrap=True
        )
    if not made:
        out.print(Text(f"{branch_id} has no executions here; `minions-evals ab-test` makes some"), soft_wrap=True)


def _rate(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"
