"""The branch whose output max-score selects, by the assertions of the test case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.door import judge, judges_of
from minions_evals_mcp.scoring.checks import Subject, Unchecked
from minions_evals_mcp.scoring.max_score import NamedScores, SelectedOutput, parted
from minions_evals_mcp.scoring.verdicts.examination import Contest, Spoilt


class AbPick(Value):
    """The branch that max-score selects by the test case's assertions, of the newest outputs, and each branch's score.

    `problem` says why there is nothing to choose by.
    """

    selected: str | None = None
    scores: dict[str, float] = {}
    named_scores: dict[str, NamedScores] = {}
    problem: str = ""


async def pick_by_max_score(engine: Engine, case: TestCase, newest: Mapping[str, TestBranchExecution]) -> AbPick | None:
    """Returns what max-score selects among the branches' outputs; None where the test case has no assertions to choose by."""
    checks, config = parted(case.assertions)
    if not checks:
        return None
    subjects = {
        ident: Subject(execution.output, execution.latency_ms, execution.estimated_cost, case.inputs)
        for ident, execution in newest.items()
        if execution.status == "success"
    }
    (selection,) = await judge([Contest(checks, [*subjects.values()], config)], judges_of(engine))
    return _picked([*subjects], selection)


def _picked(idents: Sequence[str], selection: SelectedOutput | Spoilt | Unchecked) -> AbPick:
    match selection:
        case Spoilt(index, why):
            return AbPick(problem=f"{idents[index]}: {why.type}: {why.reason}")
        case Unchecked():
            return AbPick(problem=f"{selection.type} {selection.reason}")
        case SelectedOutput(selected, standings):
            scores = [standing.named_scores.max_score for standing in standings]
            return AbPick(
                selected=None if selected is None else idents[selected],
                scores=dict(zip(idents, scores, strict=True)),
                named_scores=dict(zip(idents, (standing.named_scores for standing in standings), strict=True)),
            )
