"""In which order a report tells its cases, and how many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from minions_evals_mcp.engine.answers.run_diff import CaseChange, RunDiff
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.report_units import UnitLine

PAGE = 200
PAGE_BYTES = 8_000_000
"""A page of cases ends where either is reached, so that memory stays flat whatever an agent put out."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One trial of a case in two runs, in brief."""

    change: CaseChange | None
    run: UnitLine | None
    before: UnitLine | None

    @property
    def size(self) -> int:
        """Bytes of both."""
        return sum(line.size for line in (self.run, self.before) if line is not None)


L = TypeVar("L", UnitLine, Pair)


async def ordered_units(engine: Engine, run_id: str, *, since: str | None = None) -> list[UnitLine]:
    """The run's units, the failed ones first, the lowest scores first; before them those that passed in the run `since`."""
    units = await engine.store.read(partial(report_units.unit_lines, job_id=run_id))
    if since is None:
        return units
    passed = await engine.store.read(partial(report_units.passed_in, run_id=since))
    return sorted(units, key=lambda unit: unit.passed is not False or (unit.case_id, unit.place[1]) not in passed)


async def ordered_pairs(engine: Engine, diff: RunDiff, run_id: str, before: str) -> list[Pair]:
    """The units of both runs side by side, the largest loss first; what has no verdict in either comes last."""
    lines, other = await ordered_units(engine, run_id), await ordered_units(engine, before)
    return _paired(diff, lines, other)


def _paired(diff: RunDiff, run: Sequence[UnitLine], before: Sequence[UnitLine]) -> list[Pair]:
    """The trials of both runs by case and number, in the order of the changes; what has no verdict in either comes last."""
    lines = {(line.case_id, line.place[1]): line for line in run}
    other = {(line.case_id, line.place[1]): line for line in before}
    rank = {change.test_case_id: at for at, change in enumerate(diff.changes)}
    keys = sorted({**lines, **other}, key=lambda key: (rank.get(key[0], len(rank)), key))
    return [
        Pair(diff.changes[rank[key[0]]] if key[0] in rank else None, lines.get(key), other.get(key)) for key in keys
    ]


def paged(lines: Sequence[L]) -> Iterator[list[L]]:
    """The lines in pages, each small enough to be held whole."""
    page: list[L] = []
    size = 0
    for line in lines:
        if page and (len(page) == PAGE or size + line.size > PAGE_BYTES):
            yield page
            page, size = [], 0
        page.append(line)
        size += line.size
    if page:
        yield page
