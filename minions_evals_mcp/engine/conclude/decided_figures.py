"""The figures that decided a recorded comparison, also of one that was kept before they were part of it: those are measured again."""

from __future__ import annotations

from dataclasses import replace

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.conclude.attempts import Attempt, recorded_attempt
from minions_evals_mcp.engine.conclude.comparison import Pairing, pairing, pooled_pairs
from minions_evals_mcp.engine.conclude.decision import measured
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.stats.comparison import Difference
from minions_evals_mcp.store.connection import Db


def deciding_attempt(db: Db, comparison: Record[PromptComparison]) -> Attempt:
    """The attempt that a recorded comparison was; a sequential one is decided on its own two runs."""
    attempt = recorded_attempt(db, comparison)
    return replace(attempt, pooled=(), stored=None) if comparison.fields.is_sequential else attempt


def measured_again(db: Db, fields: PromptComparison, paired: Pairing, attempt: Attempt) -> Difference:
    """The difference at the level at which it was decided, on all that decided it."""
    level = fields.level or attempt.level
    return measured(pooled_pairs(db, paired, attempt), level=level, next_level=attempt.next_level)


def with_difference(fields: PromptComparison, difference: Difference) -> PromptComparison:
    """The comparison with the figures of that difference where it was kept without any."""
    if fields.decided_delta is not None:
        return fields
    score_a, score_b = difference.scores
    return fields.model_copy(
        update={"decided_score_a": score_a, "decided_score_b": score_b, "decided_delta": difference.delta}
    )


def decided_figures(db: Db, comparison: Record[PromptComparison]) -> PromptComparison:
    """The comparison with the figures on which its verdict, interval and p-value rest.

    Where its runs can no longer be measured it is as it was kept.
    """
    fields = comparison.fields
    if fields.decided_delta is not None or fields.delta_ci is None:
        return fields
    try:
        paired = pairing(db, fields.benchmark_run_id_a, fields.benchmark_run_id_b)
    except EvalsError:
        return fields
    return with_difference(fields, measured_again(db, fields, paired, deciding_attempt(db, comparison)))
