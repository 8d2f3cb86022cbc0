"""Show what agents did in the worlds of a run: each call with who answered it, misses, faults, attacks and the final state."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.domain.worlds import Handling, WorldEvidence
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine

MOST_UNITS = 1000


class UnitInRun(Value):
    """One unit of the run that acted on a world."""

    test_case_id: str
    trial: int
    passed: bool | None = None
    calls: tuple[ToolCall, ...]
    evidence: WorldEvidence


class Answer(Value):
    """The units of the run that acted on worlds, with the counts over all of them.

    `idle` are faults that no call met. `cut`: there are more units.
    """

    run_id: str
    units: tuple[UnitInRun, ...]
    calls: int
    misses: int
    differences: int
    handlings: dict[Handling, int]
    idle: int
    hijacked: int
    cut: bool = False


async def run(engine: Engine, run_id: str, *, case_id: str | None = None) -> Answer:
    """The units of that run, of one case where it is named; raises `BadInputError` where none acted on a world."""
    from minions_evals_mcp.engine.answers.world_units import units_in_worlds  # noqa: PLC0415  the engine, at the first call

    ident, rows = await units_in_worlds(engine, run_id, case_id=case_id, most=MOST_UNITS + 1)
    units = tuple(
        UnitInRun(
            test_case_id=row.case_id, trial=row.trial, passed=row.passed, calls=row.observed.tool_calls or (),
            evidence=row.observed.world,
        )
        for row in rows[:MOST_UNITS]
        if row.observed.world is not None
    )  # fmt: skip
    if not units:
        raise BadInputError(
            f"no output of the run {ident} was made in a world.",
            remedy=f"Set `world` in its cases. {Next('runs', reason='shows the runs whose cases ended in an error')}.",
        )
    evidence = [unit.evidence for unit in units]
    return Answer(
        run_id=ident,
        units=units,
        calls=sum(len(unit.calls) for unit in units),
        misses=sum(len(one.misses) for one in evidence),
        differences=sum(len(one.differences) for one in evidence),
        handlings=dict(Counter(fault.handling for one in evidence for fault in one.faults)),
        idle=sum(len(one.idle) for one in evidence),
        hijacked=sum(one.attack is not None and one.attack.hijacked for one in evidence),
        cut=len(rows) > MOST_UNITS,
    )
