"""A/B tests as a person reads them in a terminal: who wins, by what, how sure that is, and what each branch cost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from minions_evals_mcp.domain.definitions import TestBranch
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.ab_test.run_ab_test import AbBranch, AbTestResult
from minions_evals_mcp.report.columns import Column, show_columns
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.tables import console

NAME, MODEL, OUTPUT = 32, 28, 60
UNKNOWN = "–"
EVIDENCE = {
    "supported": "more than chance",
    "within-noise": "could be chance",
    "undecidable": "too few decided iterations to tell it from chance",
}


LEAD = {
    "supported": "more than chance",
    "within-noise": "no more than chance would give it",
    "undecidable": "not to be told from chance: too few cases differ",
}


def show_ab_test(found: AbTestResult) -> None:
    """The A/B test on stdout."""
    out = console()
    out.print(_headline(found), soft_wrap=True)
    if (line := _how_sure(found)) is not None:
        out.print(Text(f"  {line}"), soft_wrap=True)
    show_columns(out, _columns(found))
    for line in _closing(found):
        out.print(Text(line, style="dim"), soft_wrap=True)


def _headline(found: AbTestResult) -> Text:
    if found.winner is None:
        return Text(f"NO WINNER by {found.criteria}", style="bold yellow")
    first = found.branches[0]
    text = Text(f"{shortened(first.branch_name, NAME)} wins", style="bold green")
    return text.append(f"  by {found.criteria} ({_figure(found, first)}), {printable(first.model)}", style="default")


def _figure(found: AbTestResult, branch: AbBranch) -> str:
    match found.criteria:
        case "fastest":
            return _ms(branch.figure)
        case "cheapest":
            return _dollars(branch.figure)
        case "best_value":
            return "no cost" if branch.figure is None else f"{branch.figure:.4g} a dollar"
        case "best_quality" | "balanced":
            return _score(branch.figure)


def _how_sure(found: AbTestResult) -> str | None:
    """The winner's share of the iterations, and whether chance would give it as many."""
    if found.winner is not None and found.test_case_id is None:
        verdict = LEAD.get(found.evidence or "", "")
        p_value = "" if found.p_value is None else f" (p = {found.p_value:.2g})"
        return f"over {found.test_cases} cases its lead over every other branch is {verdict}{p_value}"
    if found.winner is None or found.iterations == 1:
        return None
    first = found.branches[0]
    ties = f", {found.ties} by a tie" if found.ties else ""
    told = "" if found.evidence is None else f": {EVIDENCE[found.evidence]}"
    p_value = "" if found.p_value is None else f" (p = {found.p_value:.2g})"
    return f"first in {first.wins} of {found.completed_iterations} iterations{ties}{told}{p_value}"


def _columns(found: AbTestResult) -> list[Column]:
    made = found.branches
    return [
        Column("", [str(one.rank) for one in made], right=True),
        Column("branch", [shortened(one.branch_name, NAME) + (" (control)" if one.is_control else "") for one in made]),
        Column("model", [shortened(one.model, MODEL) for one in made], 4),
        Column("quality", [_score(one.quality_score) for one in made], right=True),
        Column("passed", [_percent(one.pass_rate) for one in made], 1, right=True),
        Column("latency", [_ms(one.latency_ms) for one in made], 2, right=True),
        Column("first token", [_ms(one.time_to_first_token) for one in made], 6, right=True),
        Column("tokens/s", [_rate(one.tokens_per_second) for one in made], 7, right=True),
        Column("cost each", [_dollars(one.estimated_cost) for one in made], 3, right=True),
        Column("cost in all", [_dollars(one.total_cost) for one in made], 5, right=True),
        Column("first in" if found.iterations > 1 else "", [_fate(found, one) for one in made], 1),
    ]


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.0f} %"


def _fate(found: AbTestResult, one: AbBranch) -> str:
    """How often the branch won, and how often it failed."""
    won = f"{one.wins} of {found.completed_iterations} ({100 * one.win_share:.0f} %)" if found.iterations > 1 else ""
    failed = "" if not one.failures else "failed" if one.runs == 1 else f"failed {one.failures} times"
    return "  ".join(part for part in (won, failed) if part)


def _closing(found: AbTestResult) -> list[str]:
    lines = [f"{found.note[0].upper()}{found.note[1:]}."] if found.note else []
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


def show_branches(case_id: str, found: Sequence[Record[TestBranch]]) -> None:
    """The branches of a test case with what their executions add up to."""
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
        Column("quality", [_score(one.avg_quality_score) for one in kept], 1, right=True),
        Column("latency", [_ms(one.avg_latency) for one in kept], 6, right=True),
        Column("tokens/s", [_rate(one.avg_tokens_per_sec) for one in kept], 9, right=True),
        Column("cost", [_dollars(one.avg_cost) for one in kept], 7, right=True),
        Column("inconsistency", [_score(one.consistency_score) for one in kept], 8, right=True),
    ]
    show_columns(console(), columns)


def _marks(one: TestBranch) -> str:
    return (" (control)" if one.is_control else "") + ("" if one.is_active else " (off)")


def show_executions(branch_id: str, made: Sequence[Record[TestBranchExecution]]) -> None:
    """The executions of a branch, a line each."""
    out = console()
    for record in made:
        one = record.fields
        figures = f"{_score(one.quality_score)}  {_ms(one.latency_ms)}  {_dollars(one.estimated_cost)}"
        shown = one.output if one.error is None else one.error
        out.print(
            Text(f"{iso(record.created_at)}  {one.status:<7}  {figures}  {shortened(shown, OUTPUT)}"), soft_wrap=True
        )
    if not made:
        out.print(Text(f"{branch_id} has no executions here; `minions-evals ab-test` makes some"), soft_wrap=True)


def _score(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3f}"


def _rate(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"


def _ms(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f} ms"


def _dollars(value: float | None) -> str:
    return UNKNOWN if value is None else f"${value:.6f}" if value < 0.01 else f"${value:,.4f}"
