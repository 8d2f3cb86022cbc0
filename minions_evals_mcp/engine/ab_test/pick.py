"""Which branch's output max-score selects, by the assertions of the test case (seed 2 within seed 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.evidence import fetched
from minions_evals_mcp.scoring.assertions import check_all, needs
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unchecked
from minions_evals_mcp.scoring.max_score import MaxScore, OutputScores, parted, select


class AbPick(Value):
    """Which branch max-score selects by the test case's assertions, of the newest outputs, and each branch's score.

    `problem` says why there is nothing to choose by.
    """

    selected: str | None = None
    scores: dict[str, float] = {}
    problem: str = ""


async def pick_by_max_score(engine: Engine, case: TestCase, newest: Mapping[str, TestBranchExecution]) -> AbPick | None:
    """What max-score selects among the branches' outputs; None where the test case has no assertions to choose by."""
    checks, config = parted(case.assertions)
    if not checks:
        return None
    subjects = {
        ident: Subject(one.output, one.latency_ms, one.estimated_cost, case.inputs)
        for ident, one in newest.items()
        if one.status == "success"
    }
    wanted = [need for subject in subjects.values() for need in needs(checks, subject)]
    evidence = await fetched(wanted, regexes=engine.regexes, snippets=engine.snippets, embedder=engine.embedder)
    return _selected(subjects, checks, evidence, config)


def _selected(
    subjects: Mapping[str, Subject], checks: Sequence[Assertion], evidence: Evidence, config: MaxScore
) -> AbPick:
    scores: list[OutputScores] = []
    for ident, subject in subjects.items():
        found = check_all(checks, subject, evidence=evidence)
        if isinstance(found, Unchecked):
            return AbPick(problem=f"{ident}: {found.type}: {found.reason}")
        scores.append(OutputScores.of(found))
    selection = select(scores, config)
    if isinstance(selection, Unchecked):
        return AbPick(problem=f"{selection.type} {selection.reason}")
    idents = list(subjects)
    named = {
        ident: standing.named_scores.max_score for ident, standing in zip(idents, selection.standings, strict=True)
    }
    return AbPick(selected=None if selection.selected is None else idents[selection.selected], scores=named)
