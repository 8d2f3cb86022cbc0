"""The cases of a benchmark by run: how each came out in each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages.case_strip import unit_of
from minions_evals_mcp.store.queries.report_units import Place


@dataclass(frozen=True, slots=True)
class CaseInRun:
    """A case's trials in one run: how many passed, and where one stands, a failed one where there is any."""

    passed: int
    trials: int
    place: Place


def cases_by_run(db: Db, run_ids: Sequence[str]) -> dict[str, dict[str, CaseInRun]]:
    """Each case of those benchmark-runs, with its trials by run."""
    rows = db.execute(
        "SELECT test_case_id, benchmark_run_id, sum(passed), count(*), coalesce(min(iif(passed, NULL, id)), min(id))"
        " FROM test_run WHERE benchmark_run_id IN (SELECT value FROM json_each(?)) GROUP BY test_case_id, benchmark_run_id",
        (json.dumps(list(run_ids)),),
    )
    found: dict[str, dict[str, CaseInRun]] = {}
    for case, run, passed, trials, ident in rows:
        found.setdefault(case, {})[run] = CaseInRun(passed, trials, unit_of(ident)[1])
    return found
