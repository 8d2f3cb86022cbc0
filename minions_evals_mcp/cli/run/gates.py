"""The gates of a run, and the exit codes that they end a command with."""

from __future__ import annotations

from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.results import UNSCORED
from minions_evals_mcp.engine.answers.gates import (
    fallen_words,
    regression_gate,
    skipped_words,
    stays_red,
    undecided_words,
    unscored_words,
)
from minions_evals_mcp.engine.answers.run_summary import RunSummary

GATE = 1
BROKEN = 3


def gate(
    summary: RunSummary,
    *,
    min_score: float | None,
    fail_on_regression: bool,
    literal: bool = False,
    allow_skipped: bool = False,
) -> int:
    """The exit code of a benchmark-run: an instrument that failed, or a gate that could not be checked, before one that did."""
    if unscored(summary):
        return undecided(unscored_words(summary))
    fields = summary.benchmark_run
    if fields is None:  # outputs wait to be judged
        return BROKEN if min_score is not None or fail_on_regression else 0
    score = fields["overallScore"]
    assert isinstance(score, float)
    fallen = regression_gate(summary, literal=literal) if fail_on_regression else "held"
    reasons: list[str] = []
    if min_score is not None and score < min_score:
        rounded = f"{score:.3f}"
        reasons.append(f"score {rounded if float(rounded) < min_score else score} < {min_score:g}")
    if fallen == "failed":
        reasons.append(f"{fallen_words(summary)}. {as_typed(stays_red(summary.run_id))}")
    if reasons:
        return gate_failed("; ".join(reasons))
    if fallen == "undecided":
        assert summary.regression is not None
        sentence = undecided_words(summary.regression["worse"], summary.regression["cases"])
        tell(f"{sentence} {as_typed(stays_red(summary.run_id))}\n", aside=True)
        return BROKEN
    if fail_on_regression and summary.trend is not None and "slowFall" in summary.trend:
        tell(
            f"warning: {summary.trend['slowFall']}; no single step is a regression, so no gate fails for it\n",
            aside=True,
        )
    is_gated = min_score is not None or fail_on_regression
    return undecided(skipped_words(summary) if is_gated and not allow_skipped else "")


def undecided(why: str) -> int:
    """The exit code of a gate that passed, unless something says that it could not be decided: that is told."""
    if not why:
        return 0
    tell(f"{why}\n", aside=True)
    return BROKEN


def gate_failed(why: str) -> int:
    """The exit code of a gate that failed, once it is told why."""
    tell(f"gate failed: {why}\n", aside=True)
    return GATE


def unscored(summary: RunSummary) -> bool:
    """Returns whether an output could not be judged."""
    return any(summary.outcomes.get(outcome) for outcome in UNSCORED)
