"""The result of a lift, for a person at a terminal, and as the `benchmark.json` of the Agent Skills convention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

from pydantic import JsonValue
from rich.text import Text

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import first_named, short_id
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary
from minions_evals_mcp.engine.lift.arms import ArmName, prompt_of
from minions_evals_mcp.engine.lift.result import (
    CostChange,
    LiftResult,
    ShareFound,
    TriggerFigures,
    component_words,
)
from minions_evals_mcp.report.next_command import next_line
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.screen import console, on_screen
from minions_evals_mcp.store.queries.arm_units import ArmUnit

STYLE = {"helps": "bold green", "harmful": "bold red", "no difference": "bold", "undecided": "bold yellow"}
TITLE, NAMED = 50, 3
CONFIGURATIONS: Mapping[ArmName, str] = {"with": "with_skill", "without": "without_skill"}
"""What the convention calls the arms, whatever is tried."""


def show_lift(result: LiftResult, *, store: Path | None = None) -> None:
    """The lift on stdout: the verdict, the next command, then what moved, what it costs and whether it is taken up."""
    out = console()
    verdict = (result.verdict or "no verdict").upper()
    said = f"{verdict}  {printable(result.in_words, 500)}"
    out.print(Text(on_screen(said, out), style=STYLE.get(verdict.lower(), "bold")), soft_wrap=True)
    out.print(Text(next_line(_next(result), store)), soft_wrap=True)
    for line in _notes(result)[1:]:
        out.print(Text(on_screen(f"  {line}", out)), soft_wrap=True)
    if result.comparison is not None:
        _show_changes(result.comparison)


def _next(result: LiftResult) -> str:
    """The command that shows the outputs."""
    if (comparison := result.comparison) is not None:
        return f"diff {short_id(comparison.run_a)} {short_id(comparison.run_b)}"
    assert result.trigger_run is not None
    return f"show {short_id(result.trigger_run)}"


def _notes(result: LiftResult) -> list[str]:
    """The result in lines: the verdict's sentence, costs, whether the skill is taken up, and what was not tried."""
    left_out = first_named(result.left_out, NAMED)
    return [
        result.in_words,
        *map(component_words, result.components),
        *map(cost_line, result.costs),
        *trigger_lines(result.triggers),
        *result.notes,
        *([f"not run, because they have no check of the output: {left_out}"] if left_out else []),
    ]


def _show_changes(comparison: ComparisonSummary) -> None:
    out = console()
    for title, cases in (("worse with it", comparison.worse), ("better with it", comparison.better)):
        if cases:
            out.print(Text(f"{title}:", style="bold"))
        for case in cases:
            out.print(
                Text(f"  {shortened(printable(case.title), TITLE):<{TITLE}}  {case.score_a:.2f} → {case.score_b:.2f}")
            )
    if comparison.more_changed:
        out.print(Text(f"  and {comparison.more_changed} more changed", style="dim"))


def cost_line(change: CostChange) -> str:
    """One cost in a line: medians and means without and with the subject, the ratio of a case and what it adds up to."""
    digits = 0 if change.unit == "tokens" else 4 if change.unit == "US dollars" else 2
    sure = "too few cases for an interval"
    if change.interval is not None:
        low, high = change.interval
        sure = f"95 %: {low:+,.{digits}f} to {high:+,.{digits}f}"
    return (
        f"{change.unit}: {change.without_subject:,.{digits}f} without, {change.with_subject:,.{digits}f} with,"
        f" {change.delta:+,.{digits}f} per case ({sure};  {change.cases} cases){_typical(change, digits)}"
    )


def _typical(change: CostChange, digits: int) -> str:
    """The medians, and the ratio of a case with its interval: few dear cases decide a mean."""
    if change.median_without is None or change.ratio is None or change.ratio_interval is None:
        return ""
    low, high = change.ratio_interval
    medians = f"medians {change.median_without:,.{digits}f} and {change.median_with:,.{digits}f}"
    return f"; {medians}, per case ×{change.ratio:.2f} (95 %: ×{low:.2f} to ×{high:.2f})"


def trigger_lines(figures: TriggerFigures | None) -> list[str]:
    """Returns whether the skill is taken up where it should be, in two or three lines."""
    if figures is None:
        return []
    lines = [
        f"taken up where it should be: {_share(figures.recall)}",
        f"correct, where it was used: {_share(figures.precision)}",
    ]
    for mistake, names in (("not used in", figures.missed), ("wrongly used in", figures.wrong)):
        if names:
            lines.append(f"{mistake} {first_named(names, NAMED)}")
    if figures.not_captured:
        lines.append(f"{figures.not_captured} outputs have no tool log, so it is unknown whether they used it")
    if figures.crashed:
        lines.append(crash_line(figures))
    return lines


def crash_line(figures: TriggerFigures) -> str:
    """The trials that crashed, and between what they leave the share."""
    line = f"{figures.crashed} trials crashed and do not count: {first_named(figures.crashed_in, NAMED)}"
    if figures.recall_bounds is None:
        return line
    low, high = figures.recall_bounds
    return f"{line}; taken up where it should be, including them: {100 * low:.0f} to {100 * high:.0f} %"


def _share(share: ShareFound) -> str:
    if share.share is None or share.interval is None:
        return "of none"
    low, high = share.interval
    return f"{share.found} of {share.of} ({100 * low:.0f}–{100 * high:.0f} %)"


def benchmark_json(
    result: LiftResult, runs: Mapping[ArmName, Sequence[ArmUnit]], *, skill: str | None, at: str
) -> Json:
    """The lift as skill benchmarks are written: each run by case and configuration, and their summary; what it has no
    place for stands under `lift`."""
    runs_wire: list[JsonValue] = [
        _run(run, CONFIGURATIONS[arm], result.name) for arm, held in runs.items() for run in held
    ]
    trials = max((run.trial for held in runs.values() for run in held), default=0)
    with_, without = _summary(runs["with"]), _summary(runs["without"])
    return {
        "metadata": {
            "skill_name": skill or result.name,
            "timestamp": at,
            "evals_run": [*dict.fromkeys(_case_id(run, result.name) for run in runs["with"])],
            "runs_per_configuration": trials,
        },
        "runs": runs_wire,
        "run_summary": {
            CONFIGURATIONS["with"]: with_,
            CONFIGURATIONS["without"]: without,
            "delta": _delta(with_, without),
        },
        "notes": [*_notes(result)],
        "lift": {
            "verdict": result.verdict,
            "comparison_id": None if result.comparison is None else result.comparison.comparison_id,
            "triggers": None if result.triggers is None else result.triggers.model_dump(mode="json"),
            "components": [component.model_dump(mode="json") for component in result.components],
        },
    }


def _case_id(run: ArmUnit, name: str) -> int | str:
    """The eval's id as it stood in its file: most are whole numbers."""
    ident = run.case_id.removeprefix(f"{prompt_of(name)}/")
    return int(ident) if ident.isdecimal() else ident


def _run(run: ArmUnit, configuration: str, name: str) -> JsonValue:
    passed = sum(held for _, held, _ in run.checks)
    total = len(run.checks)
    return {
        "eval_id": _case_id(run, name),
        "eval_name": run.title,
        "configuration": configuration,
        "run_number": run.trial,
        "result": {
            "pass_rate": passed / total if total else None,
            "passed": passed,
            "failed": total - passed,
            "total": total,
            "time_seconds": None if run.latency_ms is None else run.latency_ms / 1000,
            "tokens": run.tokens,
            "tool_calls": None if run.tool_calls is None else len(run.tool_calls),
            "errors": 0 if run.judged else 1,
        },
        "expectations": [{"text": text, "passed": held, "evidence": why} for text, held, why in run.checks],
    }


def _summary(runs: Sequence[ArmUnit]) -> dict[str, JsonValue]:
    held = defaultdict[str, list[float]](list)
    for run in runs:
        if run.checks:
            held["pass_rate"].append(sum(passed for _, passed, _ in run.checks) / len(run.checks))
        if run.latency_ms is not None:
            held["time_seconds"].append(run.latency_ms / 1000)
        if run.tokens is not None:
            held["tokens"].append(run.tokens)
    return {name: _spread(values) for name, values in held.items()}


def _spread(values: Sequence[float]) -> JsonValue:
    return {
        "mean": fmean(values),
        "stddev": stdev(values) if len(values) > 1 else 0.0,
        "min": min(values),
        "max": max(values),
    }


def _delta(with_: Mapping[str, JsonValue], without: Mapping[str, JsonValue]) -> JsonValue:
    digits = {"pass_rate": 2, "time_seconds": 1, "tokens": 0}
    delta: Json = {}
    for name, places in digits.items():
        after, before = with_.get(name), without.get(name)
        if isinstance(after, dict) and isinstance(before, dict):
            change = _number(after["mean"]) - _number(before["mean"])
            delta[name] = f"{change:+.{places}f}"
    return delta


def _number(value: JsonValue) -> float:
    assert isinstance(value, (int, float))
    return value
