"""The answer to a config: tests × columns, every output with every score, and which output each test selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import JudgeErrored, Observed
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Outcome, TestRun
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.judging import Judging
from minions_evals_mcp.engine.measures import ByAssertions, Measure, measures
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.checks import Aggregate, Checked
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, UnitRow


class Score(Value):
    """One assertion's verdict on one output; the parts of a set stand under it."""

    type: str
    passed: Annotated[bool, Field(alias="pass")]
    score: float
    reason: str
    weight: float = 1.0
    metric: str | None = None
    parts: tuple[Score, ...] = ()


class Cell(Value):
    """One output of one test. `passed` and `score` are its own assertions' verdict, as it is kept.

    `selected` says whether every `max-score` and `select-best` of the test chose it; `success` is both together. An
    output that could not be made or judged has neither, and its `reason`.
    """

    column: int
    run_id: str | None = None
    outcome: Outcome | None = None
    output: str | None = None
    passed: bool | None = None
    score: float | None = None
    selected: bool | None = None
    reason: str = ""
    latency_ms: float | None = None
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    scores: tuple[Score, ...] = ()
    metrics: dict[str, float] = {}

    @property
    def success(self) -> bool:
        """Whether it passed and was not passed over."""
        return self.passed is True and self.selected is not False


class Selected(Value):
    """What one `max-score` or `select-best` chose: the column, and of `max-score` each column's aggregate.

    `problem` says why there was nothing to choose by.
    """

    type: str
    selected: int | None = None
    scores: tuple[float | None, ...] = ()
    reasons: tuple[str, ...] = ()
    problem: str = ""


class Row(Value):
    """One test (and trial) under every column."""

    index: int
    case_id: str
    title: str
    variables: Json
    trial: int
    cells: tuple[Cell, ...]
    selections: tuple[Selected, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the chosen output passed, where the test chooses; else whether every one did that does not wait for a person."""
        if self.selections:
            return any(cell.success for cell in self.cells)
        return all(cell.passed is True or cell.outcome == "awaiting-judgments" for cell in self.cells)


class ColumnFigures(Value):
    """One prompt at one provider: how many tests came out well there, and what they cost. `passRate` is 0–100."""

    prompt: str
    provider: str
    run_id: str
    key: str
    prompt_version_ref: str
    state: str
    problem: str = ""
    passed: int
    failed: int
    errors: int
    open: int
    pass_rate: float | None
    score: float | None
    latency_ms: float | None
    cost_usd: float | None
    metrics: dict[str, float] = {}
    derived: dict[str, float | None] = {}


class Matrix(Value):
    """A config's answer. `leftOut` names what was not carried out."""

    title: str
    benchmark_id: str
    columns: tuple[ColumnFigures, ...]
    rows: tuple[Row, ...]
    spent_usd: float
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store holds of one column: its job, the units by position and trial, and their test-runs."""

    job: Job
    units: Mapping[tuple[int, int], UnitRow]
    runs: Mapping[str, Record[TestRun]]

    def cell(self, column: int, position: int, trial: int, *, problem: str) -> Cell:
        """The cell of that test, without its scores; one that was not run has the column's problem for its reason."""
        unit = self.units.get((position, trial))
        if unit is None or (unit.outcome is None and unit.observed is None):
            return Cell(column=column, reason=problem or "not run yet")
        run = self.runs.get(unit.test_run_id or "")
        seen = unit.observed or Observed(output={})
        return Cell(
            column=column,
            run_id=unit.test_run_id,
            outcome=unit.outcome,
            output=None if unit.observed is None or seen.timed_out else _text(seen.output),
            passed=None if run is None else run.fields.passed,
            score=None if run is None else run.fields.total_score / run.fields.max_possible_score,
            reason=unit.reason,
            latency_ms=seen.latency_ms,
            cost_usd=seen.cost_usd,
            input_tokens=seen.input_tokens,
            output_tokens=seen.output_tokens,
        )


def _text(output: Json) -> str:
    return value_text(output.get("output", output))


def kept_column(db: Db, job_id: str, cases: int) -> Kept:
    """What is kept of a column's run over so many cases."""
    job = jobs.job(db, job_id)
    assert job is not None, "it was started"
    judged = {run.id: run for run in runs.job_runs(db, job_id, limit=job.total)}
    return Kept(job, jobs.units(db, job_id, first=0, last=cases), judged)


def case_measures(db: Db, case_ids: Sequence[str]) -> list[Measure]:
    """What each case is measured with, in order."""
    return measures(db, case_ids, {})


async def checked_cell(
    judging: Judging, measure: Measure, kept: Kept, cell: Cell, place: tuple[int, int]
) -> Aggregate | None:
    """Each assertion's verdict on the output of a cell that was judged by assertions; kept grades cost nothing again."""
    unit = kept.units.get(place)
    if (
        unit is None
        or unit.observed is None
        or cell.outcome != "scored"
        or not isinstance(measure.yardstick, ByAssertions)
    ):
        return None
    case = measure.case.fields
    work = Work(case.inputs, case.expected_outputs, unit.observed)
    found = await judging.checked(unit.key, measure.yardstick, work)
    return None if isinstance(found, JudgeErrored) else found


def shown_scores(results: Sequence[Checked]) -> tuple[Score, ...]:
    """The verdicts as they stand in the answer."""
    return tuple(
        Score(
            type=one.type,
            passed=one.passed,
            score=one.score,
            reason=one.reason,
            weight=one.weight,
            metric=one.metric,
            parts=shown_scores(one.parts),
        )
        for one in results
    )
