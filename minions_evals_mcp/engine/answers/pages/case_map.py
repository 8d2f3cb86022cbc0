"""The map of a benchmark: its cases by run, so that a flaky case shows as a row and a bad change as a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

from minions_evals_mcp.engine.answers.pages.benchmark_page import BenchmarkPage
from minions_evals_mcp.engine.answers.report_values import ReportTrendPoint
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.pages.case_map import CaseInRun, cases_by_run
from minions_evals_mcp.store.queries.report_units import Place
from minions_evals_mcp.store.seals import is_sealed

RUNS, CASES = 20, 48
LEAST_RUNS = 2
State = Literal["passed", "failed", "mixed"]


@dataclass(frozen=True, slots=True)
class MapCell:
    """How a case came out in a run: `mixed` where some of its trials passed; `place` is the unit to open."""

    state: State
    passed: int
    trials: int
    place: Place


@dataclass(frozen=True, slots=True)
class MapRow:
    """A case over the runs, None where a run has no verdict on it; `turns` counts how often its result turned."""

    case_id: str
    title: str
    cells: tuple[MapCell | None, ...]
    turns: int


@dataclass(frozen=True, slots=True)
class CaseMap:
    """The newest runs, oldest first, and the cases that did not pass in all of them, those that turned most often first.

    `newly_failing` counts by run the cases that had passed before; `steady` cases passed in every run, `left_out` are not shown.
    """

    runs: tuple[ReportTrendPoint, ...]
    rows: tuple[MapRow, ...]
    newly_failing: tuple[int, ...]
    steady: int
    left_out: int


async def read_case_map(engine: Engine, page: BenchmarkPage) -> CaseMap | None:
    """The map of the benchmark; None of a sealed one, and before its second run."""
    runs = page.points[-RUNS:]
    if len(runs) < LEAST_RUNS:
        return None
    return await engine.store.read(partial(_map, benchmark_id=page.record.id, runs=runs))


def _map(db: Db, *, benchmark_id: str, runs: Sequence[ReportTrendPoint]) -> CaseMap | None:
    if is_sealed(db, benchmark_id):
        return None
    found = cases_by_run(db, [run.run_id for run in runs])
    cells = {case: tuple(_cell(by_run.get(run.run_id)) for run in runs) for case, by_run in found.items()}
    shaky = {
        case: row for case, row in cells.items() if any(cell is not None and cell.state != "passed" for cell in row)
    }
    order = sorted(shaky, key=lambda case: (-_turns(shaky[case]), -_failed(shaky[case]), case))
    titles = report_units.titles(db, order[:CASES])
    return CaseMap(
        runs=tuple(runs),
        rows=tuple(MapRow(case, titles.get(case) or case, shaky[case], _turns(shaky[case])) for case in order[:CASES]),
        newly_failing=tuple(sum(_fell(row, at) for row in cells.values()) for at in range(len(runs))),
        steady=len(cells) - len(shaky),
        left_out=len(order[CASES:]),
    )


def _cell(case: CaseInRun | None) -> MapCell | None:
    if case is None:
        return None
    state: State = "passed" if case.passed == case.trials else "mixed" if case.passed else "failed"
    return MapCell(state, case.passed, case.trials, case.place)


def _turns(row: Sequence[MapCell | None]) -> int:
    known = [cell.state == "passed" for cell in row if cell is not None]
    return sum(before != after for before, after in pairwise(known))


def _failed(row: Sequence[MapCell | None]) -> int:
    return sum(cell is not None and cell.state != "passed" for cell in row)


def _fell(row: Sequence[MapCell | None], at: int) -> bool:
    """Whether the case fails in that run and passed in the newest run before it that judged it."""
    cell = row[at]
    before = next((cell for cell in reversed(row[:at]) if cell is not None), None)
    return cell is not None and before is not None and cell.state != "passed" and before.state == "passed"
