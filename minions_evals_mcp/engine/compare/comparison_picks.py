"""The version whose output max-score selects, case by case, where a case's own assertions judge it."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.door import judge, judges_of
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, Measure, measures
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.checks import Subject
from minions_evals_mcp.scoring.max_score import SelectedOutput, parted
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.scoring.verdicts.examination import Contest
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.run_pairs import checked_by_assertions
from minions_evals_mcp.targets.recorded import observed_run

Pair = tuple[Measure, Subject, Subject]


class MaxScorePicks(Value):
    """The counts of max-score's choices of version A's output and of B's (of equals A's); `unpicked` could not be chosen between."""

    a: int
    b: int
    unpicked: int


async def picks(engine: Engine, run_a: str, run_b: str, case_ids: Sequence[str]) -> MaxScorePicks | None:
    """The picks over those cases' first outputs; None where no case is judged by assertions of its own."""
    pairs = await engine.store.read(lambda db: _pairs(db, run_a, run_b, case_ids))
    if not pairs:
        return None
    chosen = [
        selection.selected if isinstance(selection, SelectedOutput) else None
        for selection in await judge([*map(_contest, pairs)], judges_of(engine))
    ]
    return MaxScorePicks(a=chosen.count(0), b=chosen.count(1), unpicked=chosen.count(None))


def _pairs(db: Db, run_a: str, run_b: str, case_ids: Sequence[str]) -> list[Pair]:
    known: dict[str, RubricInUse] = {}
    wanted = checked_by_assertions(db, case_ids)
    judged = [measure for measure in measures(db, wanted, known) if isinstance(measure.yardstick, ByAssertions)]
    idents = [measure.case.id for measure in judged]
    a, b = _outputs(db, run_a, idents, judged), _outputs(db, run_b, idents, judged)
    return [
        (measure, a[measure.case.id], b[measure.case.id])
        for measure in judged
        if measure.case.id in a and measure.case.id in b
    ]


def _outputs(db: Db, run_id: str, idents: list[str], judged: list[Measure]) -> dict[str, Subject]:
    """Returns what the first trial of each case put out, as assertions see it."""
    stored = jobs.outputs_of(db, run_id, idents)
    outputs: dict[str, Subject] = {}
    for measure in judged:
        case, stored_output = measure.case, stored.get((measure.case.id, 1))
        if stored_output is None:
            continue
        seen = stored_output.observed or _recorded(db, stored_output.agent_run_id, timeout_ms=case.fields.timeout_ms)
        if seen is not None:
            outputs[case.id] = Work(case.fields.inputs, case.fields.expected_outputs, seen).subject
    return outputs


def _recorded(db: Db, ident: str | None, *, timeout_ms: int | None) -> Observed | None:
    run = None if ident is None else records.get(db, ident, AgentRun)
    seen = None if run is None else observed_run(run, timeout_ms=timeout_ms)
    return seen if isinstance(seen, Observed) else None


def _contest(pair: Pair) -> Contest:
    """A's output against B's; undecided where a check needs a model's grade: nobody pays for one here."""
    measure, *subjects = pair
    checks, config = parted(measure.case.fields.assertions)
    return Contest(checks, subjects, config)
