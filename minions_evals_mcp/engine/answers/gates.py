"""Gates on a fall of the pass rate: they fail on evidence, or by the literal rule where that is asked for."""

from __future__ import annotations

from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.stats.paired import evidence
from minions_evals_mcp.stats.regression import Gate, fall_gate, pass_rate_dropped

NAMED_SKIPPED = 3


def regression_gate(summary: RunSummary, *, literal: bool = False) -> Gate:
    """The gate on a benchmark-run's regression; `literal` fails it on the rule alone, whatever chance could do.

    A run is measured against the newest earlier one that held itself or was accepted: the same run again stays red.
    """
    regression = summary.regression
    if regression is None:
        return "held"
    if literal:
        return "failed"
    better = regression["better"]
    assert isinstance(better, int)
    is_noise = regression.get("withinNoiseFloor") is True
    return fall_gate(cast("Evidence", regression["evidence"]), better=better, is_within_noise=is_noise)


def comparison_gate(summary: ComparisonSummary, *, literal: bool = False) -> Gate:
    """The gate on the new version's fall: its verdict, or what its passes say without the budget of the attempts.

    That budget keeps a version from being approved by luck; a fall approves nothing, so that it is tested at .05.
    """
    passes = summary.passes
    dropped = pass_rate_dropped(passes.a, passes.units_a, passes.b, passes.units_b)
    if summary.verdict == "regressed":
        return "failed"
    if literal:
        return "failed" if dropped else "held"
    against_noise = evidence(passes.lost, passes.gained)
    if passes.lost > passes.gained and against_noise == "supported":
        return "failed"
    return fall_gate(against_noise, better=passes.gained) if dropped and against_noise == "undecidable" else "held"


def undecided_words(worse: JsonValue, cases: JsonValue) -> str:
    """Returns why a gate ends undecided, and what decides it."""
    return (
        f"gate undecided: {worse} of {cases} cases got worse and none better, and fewer than 6 changed cases decide nothing."
        " Run more cases or --trials; --literal fails the gate on the rule alone."
    )


def skipped_words(summary: RunSummary) -> str:
    """Returns which outputs of a run a gate could not look at, and what helps; empty where it saw all."""
    skipped = summary.outcomes.get("skipped", 0)
    if not skipped:
        return ""
    lines = [line for line in summary.unscored if line.outcome == "skipped"][:NAMED_SKIPPED]
    named = "; ".join(f"{line.test_case_id}: {line.reason}" for line in lines)
    more = f"; and {skipped - len(lines)} more" if skipped > len(lines) else ""
    return (
        f"gate undecided: {skipped} of {summary.units} outputs {'was' if skipped == 1 else 'were'} not judged ({named}{more})."
        " Record them or name a --target; --allow-skipped lets the gates hold without them."
    )


def stays_red(run_id: str) -> str:
    """Returns what becomes of a fall: the next run is not measured against the one that fell, unless somebody accepts that."""
    return f"It stays so until a run is better, or somebody accepts this one: minions-evals accept {run_id}"
