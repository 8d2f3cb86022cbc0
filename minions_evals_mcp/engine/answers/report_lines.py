"""A report's cases in brief, with the rest as JSON that nothing here reads: what a file for a browser is made of."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.engine.answers.report_order import Pair, ordered_pairs, ordered_units, paged
from minions_evals_mcp.engine.answers.report_values import Report, Status, either, status_of
from minions_evals_mcp.engine.answers.run_diff import CaseChange
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.report_units import Place
from minions_evals_mcp.store.queries.unit_texts import ToldUnit, told_units


@dataclass(slots=True, eq=False)
class TrialLine:
    """One trial of a case in the run that the report is about and, side by side, in the run before."""

    tried: ToldUnit | None
    before: ToldUnit | None = None
    change: CaseChange | None = None

    @property
    def either_trial(self) -> ToldUnit:
        """The trial of the run that the report is about, else that of the run beside it."""
        return either(self.tried, self.before)

    @property
    def status(self) -> Status:
        """Returns how it stands in the run that the report is about, as `ReportedCase.status` says."""
        return "absent" if self.tried is None else status_of(self.tried.passed)


async def report_lines(engine: Engine, report: Report) -> AsyncGenerator[list[TrialLine]]:
    """The cases of `report_cases`, in its order, a page at a time."""
    run_id = report.run.summary.run_id
    if report.before is None or report.diff is None:
        for page in paged(
            await ordered_units(engine, run_id, since=None if report.since is None else report.since.run_id)
        ):
            places = [line.place for line in page]
            yield [
                TrialLine(unit) for unit in await engine.store.read(partial(told_units, job_id=run_id, places=places))
            ]
        return
    before = report.before.summary.run_id
    for both in paged(await ordered_pairs(engine, report.diff, run_id, before)):
        yield await engine.store.read(partial(_side_by_side, page=both, run_id=run_id, before=before))


def _side_by_side(db: Db, *, page: list[Pair], run_id: str, before: str) -> list[TrialLine]:
    now = _by_place(db, run_id, [pair.run.place for pair in page if pair.run is not None])
    then = _by_place(db, before, [pair.before.place for pair in page if pair.before is not None])
    return [
        TrialLine(
            None if pair.run is None else now[pair.run.place],
            None if pair.before is None else then[pair.before.place],
            pair.change,
        )
        for pair in page
    ]


def _by_place(db: Db, run_id: str, places: list[Place]) -> dict[Place, ToldUnit]:
    return {unit.place: unit for unit in told_units(db, run_id, places)}
