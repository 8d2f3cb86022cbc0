"""The rounds in which an output is judged outside: the caller by the model's criteria first, then a person by their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from minions_evals_mcp.engine.judge.panel import kind_of, outside_criteria
from minions_evals_mcp.engine.request import JudgeChoice, JudgeKind
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.packets import packet_digest
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store.jobs import UnitRow

OUTSIDE: tuple[JudgeKind, ...] = ("caller", "human")
"""Who is asked outside, in this order: what waits for a person says nothing of what the caller found."""


@frozen_type
class Round:
    """Criteria that are asked for together, and whether a person is asked."""

    criteria: tuple[Criterion, ...]
    of_person: bool


def rounds(rubric: RubricInUse, choice: JudgeChoice, *, has_model: bool) -> tuple[Round, ...]:
    """The rounds of the rubric under that choice, in order."""
    asked = outside_criteria(rubric, choice, has_model=has_model)
    parts = {
        kind: tuple(one for one in asked if kind_of(choice, one.fields, has_model=has_model) == kind)
        for kind in OUTSIDE
    }
    return tuple(Round(criteria, kind == "human") for kind, criteria in parts.items() if criteria)


def open_round(asked: Sequence[Round], given: Collection[str]) -> Round:
    """The first round of which a verdict is missing."""
    return next(one for one in asked if any(criterion.id not in given for criterion in one.criteria))


def round_of(asked: Sequence[Round], row: UnitRow, work: Work, rubric: RubricInUse) -> Round:
    """The round that the unit's request asks for.

    A request of an earlier version asks for all rounds at once, of a person if any part is theirs. Where none fits, the
    case or a criterion has changed since: then it is the last round.
    """
    together = {criterion.id: criterion for one in asked for criterion in one.criteria}
    whole = Round(
        tuple(together[ident] for ident, _ in rubric.criteria if ident in together),
        any(one.of_person for one in asked),
    )
    fitting = (one for one in (*asked, whole) if packet_digest(row.key, one.criteria, work) == row.packet)
    return next(fitting, asked[-1] if asked else whole)
