"""The costs of runs over time: day by day, and by what they were of, beside as many days before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.connection import Db, file_of
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.pages import costs, overview
from minions_evals_mcp.store.queries.pages.costs import CostlyRun

KEPT = 5_000
"""So many runs' costs are kept in memory: those of a run that ended never change, and its outputs may be many."""
_known: OrderedDict[tuple[str, str], float | None] = OrderedDict()


@dataclass(frozen=True, slots=True)
class DayCost:
    """The cost in US dollars of the runs that began on one day (UTC)."""

    day: date
    usd: float
    runs: int


@dataclass(frozen=True, slots=True)
class SubjectCost:
    """The cost of the runs of one benchmark or test case, and those of as many days before."""

    subject_id: str
    title: str
    runs: int
    usd: float
    before_usd: float
    unknown: int
    """Runs of which no cost is known."""

    @property
    def each_usd(self) -> float | None:
        """The mean of the runs whose cost is known."""
        priced = self.runs - self.unknown
        return self.usd / priced if priced else None


@dataclass(frozen=True, slots=True)
class CostsPage:
    """The costs of the last `span` days."""

    span: int
    days: tuple[DayCost, ...]
    subjects: tuple[SubjectCost, ...]

    @property
    def drawn(self) -> list[tuple[date, float]]:
        """The days as a chart takes them."""
        return [(day.day, day.usd) for day in self.days]

    @property
    def usd(self) -> float:
        """All of it."""
        return sum(subject.usd for subject in self.subjects)

    @property
    def before_usd(self) -> float:
        """Returns what the same number of days before cost."""
        return sum(subject.before_usd for subject in self.subjects)

    @property
    def runs(self) -> int:
        """Returns how many runs there were."""
        return sum(subject.runs for subject in self.subjects)

    @property
    def unknown(self) -> int:
        """Of how many of them no cost is known."""
        return sum(subject.unknown for subject in self.subjects)


async def read_costs(engine: Engine, span: int) -> CostsPage:
    """The costs of the runs that began within so many days."""
    return await engine.store.read(partial(_page, now=engine.clock(), span=span))


def _page(db: Db, *, now: datetime, span: int) -> CostsPage:
    last = now.date()
    first = last - timedelta(days=span - 1)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=2 * span - 1)
    priced = [(run, _cost(db, run)) for run in costs.runs_since(db, midnight)]
    ours = [(run, cost) for run, cost in priced if run.at.date() >= first]
    titles = report_units.titles(db, list({run.subject_id for run, _ in priced}))
    days = [_day(first + timedelta(days=number), ours) for number in range(span)]
    subjects = [
        _subject(ident, titles.get(ident, ident), priced, first)
        for ident in dict.fromkeys(run.subject_id for run, _ in ours)
    ]
    gone = {run.subject_id for run, _ in priced} - {subject.subject_id for subject in subjects}
    subjects += [_subject(ident, titles.get(ident, ident), priced, first) for ident in sorted(gone)]
    return CostsPage(span, tuple(days), tuple(sorted(subjects, key=lambda cost: (-cost.usd, -cost.runs, cost.title))))


_Priced = Sequence[tuple[CostlyRun, float | None]]


def _day(day: date, priced: _Priced) -> DayCost:
    costs_of_day = [cost for run, cost in priced if run.at.date() == day]
    return DayCost(day, sum(cost or 0.0 for cost in costs_of_day), len(costs_of_day))


def _subject(ident: str, title: str, priced: _Priced, first: date) -> SubjectCost:
    own = [(run.at.date() >= first, cost) for run, cost in priced if run.subject_id == ident]
    now = [cost for is_now, cost in own if is_now]
    return SubjectCost(
        subject_id=ident,
        title=title,
        runs=len(now),
        usd=sum(cost or 0.0 for cost in now),
        before_usd=sum(cost or 0.0 for is_now, cost in own if not is_now),
        unknown=sum(cost is None for cost in now),
    )


def _cost(db: Db, run: CostlyRun) -> float | None:
    key = (file_of(db), run.run_id)
    if key in _known:
        return _known[key]
    cost = overview.run_cost(db, run.run_id)
    if run.ended:
        _known[key] = cost
        if len(_known) > KEPT:
            _known.popitem(last=False)
    return cost
