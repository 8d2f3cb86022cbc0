"""Which outputs are missing between two runs: those that one run has and the other was asked for, too, and did not judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from minions_evals_mcp.engine.conclude.decision import pairs_with_missing
from minions_evals_mcp.stats.comparison import CasePair
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.run_pairs import CaseScores
from minions_evals_mcp.store.queries.shared_cases import unjudged_outputs

Scores = Mapping[str, CaseScores]


def with_missing(
    db: Db, runs: tuple[str, str], scores: tuple[Scores, Scores], pairs: Sequence[CasePair]
) -> list[CasePair] | None:
    """The pairs with a failure for each missing output; None where none is.

    Cases or trials that only one of two runs was asked for are not missing: suites grow and shrink between them.
    """
    missing_a, missing_b = (unjudged_outputs(db, run) for run in runs)
    if not missing_a and not missing_b:
        return None
    a, b = scores
    return pairs_with_missing(pairs, _asked(a, b, missing_b), _asked(b, a, missing_a))


def _asked(own: Scores, other: Scores, missing: Mapping[str, int]) -> dict[str, CaseScores]:
    """The cases that the other run was asked for, too, each with as many trials as there."""
    asked = {ident: (len(other[ident].passed) if ident in other else 0) + missing.get(ident, 0) for ident in own}
    return {
        ident: replace(scores, fractions=scores.fractions[: asked[ident]], passed=scores.passed[: asked[ident]])
        for ident, scores in own.items()
        if asked[ident]
    }
