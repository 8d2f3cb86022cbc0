"""The outputs of one benchmark-run, and the inputs that they answer."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db


@frozen_type
class RunOutput:
    """An output that was judged, of which case, and how."""

    test_case_id: str
    output: Json
    passed: bool
    timed_out: bool


def outputs_of_run(db: Db, run_id: str) -> Iterator[RunOutput]:
    """Yields the judged outputs of the run, in the order in which they were kept."""
    rows = db.execute(
        "SELECT test_case_id, rest -> '$.actualOutput', passed, outcome FROM test_run WHERE benchmark_run_id = ?"
        " ORDER BY seq",
        (run_id,),
    )
    for case_id, output, passed, outcome in rows:
        yield RunOutput(case_id, from_json(output), bool(passed), outcome == "timed-out")


def inputs_of_run(db: Db, run_id: str, *, limit: int) -> Iterator[Json]:
    """Yields the inputs of the first `limit` cases of the run, each once."""
    rows = db.execute(
        "SELECT m.fields -> '$.inputs' FROM unit u JOIN minion m ON m.id = u.case_id"
        " WHERE u.job_id = ? AND u.trial = 1 ORDER BY u.position LIMIT ?",
        (run_id, limit),
    )
    for (inputs,) in rows:
        if inputs is not None:
            yield from_json(inputs)
