"""The units of a run that acted on worlds."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.engine.answers.report_data import find_subject
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.queries.report_units import world_outputs


@frozen_type
class WorldUnit:
    """A unit with its output; `passed` once it was judged."""

    case_id: str
    trial: int
    passed: bool | None
    observed: Observed


async def units_in_worlds(engine: Engine, ident: str, *, case_id: str | None, most: int) -> tuple[str, list[WorldUnit]]:
    """The run's id, and its units that acted on worlds, in their order; `ident` is a run, or a benchmark for its newest."""
    run_id = (await find_subject(engine, ident)).run_id
    rows = await engine.store.read(partial(world_outputs, job_id=run_id, case_id=case_id, most=most))
    return run_id, [
        WorldUnit(case, trial, None if passed is None else bool(passed), Observed.model_validate_json(output))
        for case, trial, passed, output in rows
    ]
