"""The stored parts of a config's columns: the units of their runs, by test and trial, and each assertion's verdict on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.config_eval.evaluation import Column
from minions_evals_mcp.engine.config_eval.matrix import Cell
from minions_evals_mcp.engine.judge.judging import Judging
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, Measure, measures
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.checks import Aggregate
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, UnitRow
from minions_evals_mcp.targets.prompted import recalled_inputs

NOT_ASKED = "not part of this test"


@dataclass(frozen=True, slots=True)
class KeptPart:
    """The stored part of one run of a column: its job, the units by case and trial, and their test-runs.

    `problem` is the instrument's failure, if it failed. `was_complete`: it had ended before the evaluation began.
    """

    job: Job
    units: Mapping[tuple[str, int], UnitRow]
    runs: Mapping[str, Record[TestRun]]
    problem: str
    was_complete: bool = False

    def cell(self, column: int, case_id: str, trial: int) -> Cell:
        """The cell of that test, without its scores; one that was not run has the run's problem for its reason."""
        unit = self.units.get((case_id, trial))
        if unit is None or (unit.outcome is None and unit.observed is None):
            return Cell(column=column, reason=self.problem or "not run yet")
        run = self.runs.get(unit.test_run_id or "")
        seen = unit.observed or Observed(output={})
        made = None if unit.observed is None or seen.timed_out else seen.output.get("output", seen.output)
        return Cell(
            column=column,
            run_id=unit.test_run_id,
            outcome=unit.outcome,
            output=None if made is None else value_text(made),
            value=None if isinstance(made, str) else made,
            passed=None if run is None else run.fields.passed,
            score=None if run is None else run.fields.total_score / run.fields.max_possible_score,
            reason=unit.reason,
            latency_ms=seen.latency_ms,
            cost_usd=seen.cost_usd,
            input_tokens=seen.input_tokens,
            output_tokens=seen.output_tokens,
            recalled=recalled_inputs({}, seen.output),
            cached=made is not None and (self.was_complete or seen.reused_from is not None),
        )


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """The stored parts of one column: its runs in order, and the one that each case asks for."""

    parts: tuple[KeptPart, ...]
    by_case: Mapping[str, KeptPart]

    def cell(self, column: int, case_id: str, trial: int) -> Cell:
        """The cell of that test, without its scores."""
        part = self.by_case.get(case_id)
        if part is None:
            return Cell(column=column, asked=False, reason=NOT_ASKED)
        return part.cell(column, case_id, trial)

    def unit(self, case_id: str, trial: int) -> UnitRow | None:
        """Returns what is kept of that test's unit, if it was asked for and begun."""
        part = self.by_case.get(case_id)
        return None if part is None else part.units.get((case_id, trial))


def kept_column(db: Db, column: Column, runs_of: Sequence[tuple[str, str, bool]]) -> StoredColumn:
    """What is kept of a column whose parts ran as those jobs, each with its problem and whether it had ended before."""
    parts = tuple(
        _kept_part(db, job_id, len(part.case_ids), problem, was_complete=was_complete)
        for part, (job_id, problem, was_complete) in zip(column.parts, runs_of, strict=True)
    )
    pairs = zip(column.parts, parts, strict=True)
    return StoredColumn(parts, {case_id: kept_part for part, kept_part in pairs for case_id in part.case_ids})


def _kept_part(db: Db, job_id: str, cases: int, problem: str, *, was_complete: bool = False) -> KeptPart:
    job = jobs.job(db, job_id)
    assert job is not None, "it was started"
    units = jobs.units(db, job_id, first=0, last=cases).values()
    judged = {run.id: run for run in runs.job_runs(db, job_id, limit=job.total)}
    return KeptPart(job, {(unit.case_id, unit.key.trial): unit for unit in units}, judged, problem, was_complete)


def kept_part(db: Db, job_id: str) -> KeptPart:
    """What is kept of a run: all its units, and their test-runs."""
    job = jobs.job(db, job_id)
    assert job is not None, "it was started"
    return _kept_part(db, job_id, job.total, job.reason)


def case_measures(db: Db, case_ids: Sequence[str]) -> list[Measure]:
    """Returns what each case is measured with, in order."""
    return measures(db, case_ids, {})


async def checked_cell(judging: Judging, measure: Measure, unit: UnitRow | None, cell: Cell) -> Aggregate | None:
    """Each assertion's verdict on the output of a cell that was judged by assertions; kept grades cost nothing again."""
    if (
        unit is None
        or unit.observed is None
        or cell.outcome != "scored"
        or not isinstance(measure.yardstick, ByAssertions)
    ):
        return None
    case = measure.case.fields
    inputs = recalled_inputs(case.inputs, unit.observed.output)
    work = Work(inputs, case.expected_outputs, unit.observed, prompt=cell.prompt or "", written=case.written)
    result = await judging.checked(unit.key, measure, work)
    return result if isinstance(result, Aggregate) else None
