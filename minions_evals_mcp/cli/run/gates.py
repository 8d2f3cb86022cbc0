"""The gates of a run, and the exit codes that they end a command with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.results import JUDGED, UNSCORED
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.stats.limits import Undecided, settled

GATE = 1
BROKEN = 3


UndecidedAs = Annotated[Undecided | None, Parameter(name="--undecided")]
"""What a gate that cannot be decided becomes."""


def gate(
    summary: get_run.Summary,
    *,
    min_score: float | None,
    fail_on_regression: bool,
    literal: bool = False,
    allow_skipped: bool = False,
    undecided_as: Undecided | None = None,
) -> int:
    """The exit code of a benchmark-run: an instrument that failed, or a gate that could not be checked, before one that did."""
    from minions_evals_mcp.engine.answers.gates import (  # noqa: PLC0415  only a benchmark-run has gates
        compared_words,
        fallen_words,
        open_regression_words,
        regression_gate,
        score_gate,
        score_words,
        skipped_words,
        stays_red,
        unscored_words,
    )

    if unscored(summary):
        return undecided(unscored_words(summary))
    fields = summary.benchmark_run
    if fields is None:  # outputs wait to be judged
        return BROKEN if min_score is not None or fail_on_regression else 0
    fallen = regression_gate(summary, literal=literal) if fail_on_regression else "held"
    reasons: list[str] = []
    open_gates: list[str] = []
    if min_score is not None and (limit := score_gate(summary, min_score, literal=literal)).gate != "held":
        (reasons if limit.gate == "failed" else open_gates).append(as_typed(score_words(summary, limit)))
    if fallen == "failed":
        reasons.append(f"{fallen_words(summary)}. {as_typed(stays_red(summary.run_id))}")
    if fallen == "undecided":
        open_gates.append(as_typed(open_regression_words(summary)))
    if reasons:
        return gate_failed("; ".join(reasons))
    if open_gates and settled("undecided", undecided_as) != "held":
        return _left_open(open_gates, undecided_as)
    for sentence in open_gates:
        tell(f"{sentence} It passes because of --undecided pass.\n", aside=True)
    if fail_on_regression:
        _say_what_it_saw(summary, compared_words(summary))
    is_gated = min_score is not None or fail_on_regression
    return undecided(skipped_words(summary) if is_gated and not allow_skipped else "")


def _say_what_it_saw(summary: get_run.Summary, part: str) -> None:
    """Says what a gate on a fall that passed has not looked at, and of a decline that it does not see."""
    if part:
        tell(f"{as_typed(part)}\n", aside=True)
    if summary.trend is not None and "slowFall" in summary.trend:
        tell(
            f"warning: {summary.trend['slowFall']}; no single step is a regression, so no gate fails\n",
            aside=True,
        )


def _left_open(sentences: Sequence[str], undecided_as: Undecided | None) -> int:
    """The exit code of gates that chance leaves open, once they are told."""
    for sentence in sentences:
        tell(f"{sentence}\n", aside=True)
    return BROKEN if undecided_as is None else gate_failed("an undecided gate fails because of --undecided fail")


def undecided(why: str) -> int:
    """The exit code of a gate that passed, unless something says that it could not be decided: that is told."""
    if not why:
        return 0
    tell(f"{why}\n", aside=True)
    return BROKEN


def gate_failed(why: str, code: int = GATE) -> int:
    """The exit code of a gate that failed, once it is told why."""
    tell(f"gate failed: {why}\n", aside=True)
    return code


def has_no_verdict(summary: get_run.Summary) -> bool:
    """Whether an output of the run has no verdict, for whatever reason."""
    return any(number for outcome, number in summary.outcomes.items() if outcome not in JUDGED)


def unscored(summary: get_run.Summary) -> bool:
    """Returns whether an output could not be judged."""
    return any(summary.outcomes.get(outcome) for outcome in UNSCORED)
