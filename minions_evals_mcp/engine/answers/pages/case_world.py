"""The end of the world that one unit of a run acted on."""

from __future__ import annotations

from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.worlds import WorldEvidence
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.report_units import world_outputs

MOST_TRIALS = 1000


def world_of_unit(db: Db, run_id: str, case_id: str, trial: int) -> WorldEvidence | None:
    """What is known at the end of that unit's world; None where it had none."""
    rows = world_outputs(db, job_id=run_id, case_id=case_id, most=MOST_TRIALS)
    output = next((output for _, number, _, output in rows if number == trial), None)
    return None if output is None else Observed.model_validate_json(output).world
