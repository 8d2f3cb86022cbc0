"""Lift: try a skill, a file or a tool on the same cases with and without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from minions_evals_mcp.interop.lifts.lift_file import LiftRequest as Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minions_evals_mcp.engine.answers.run_summary import RunSummary
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.lift.arms import ArmName
    from minions_evals_mcp.engine.lift.result import LiftResult as Answer
    from minions_evals_mcp.engine.lift.run_lift import LiftPlan
    from minions_evals_mcp.engine.run.pipeline import Progress
    from minions_evals_mcp.store.queries.arm_units import ArmUnit

__all__ = ["Lifted", "Request", "plan", "run", "sides", "units"]
Lifted: TypeAlias = "Answer"


def plan(request: Request) -> LiftPlan:
    """The plan of the lift, before an engine is opened: the target's workspaces follow from it."""
    from minions_evals_mcp.engine.context import wall_clock  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.interop.lifts.lift_file import lift_plan  # noqa: PLC0415  as above

    return lift_plan(request, at=wall_clock())


async def run(
    engine: Engine, request: Request, *, planned: LiftPlan | None = None, progress: Progress | None = None
) -> Answer | None:
    """The result of the lift; None while outputs wait to be judged by the caller or a person."""
    from minions_evals_mcp.engine.lift.run_lift import run_lift  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.run.run_benchmark import silent  # noqa: PLC0415  as above

    return await run_lift(engine, planned or plan(request), request, progress=progress or silent)


async def sides(engine: Engine, answer: Answer) -> Sequence[RunSummary]:
    """The summaries of the runs that a lift compared."""
    from minions_evals_mcp.engine.answers.run_summary import summarize  # noqa: PLC0415  as above

    return [await summarize(engine, run_id, limit=1) for run_id in answer.runs]


async def units(engine: Engine, answer: Answer) -> Mapping[ArmName, Sequence[ArmUnit]]:
    """The units of each arm, as a benchmark.json lists them."""
    from minions_evals_mcp.engine.lift.run_lift import units_of  # noqa: PLC0415  as above

    return await units_of(engine, answer)
