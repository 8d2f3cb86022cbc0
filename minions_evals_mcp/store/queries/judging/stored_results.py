"""The results of versions that are stored: benchmark-runs by which they could be compared, and the outputs in them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.stored_results import ComparedOutput
from minions_evals_mcp.store.connection import Db

ALIKE = (
    "json_array(b.benchmark_id, coalesce((SELECT json_extract(fields, '$.content') FROM minion WHERE id ="
    " b.prompt_version_ref AND type = 'prompt-version'), b.prompt_version_ref), json_extract(b.rest, '$.digests'))"
)
"""What a run was measured with, and of what: the content of the version where it is recorded, cases, rubric, judge, scorer,
embedder and target."""
_SAID = (
    "json_array(b.prompt_version_ref, json_extract(b.rest, '$.digests.testCase'), json_extract(b.rest, '$.digests.judge'),"
    " coalesce((SELECT json_group_array(o) FROM (SELECT coalesce(r.agent_run_id, r.id) AS o FROM test_run r"
    "  WHERE r.benchmark_run_id = b.id ORDER BY r.test_case_id, r.trial)), ''))"
)
_CHOSEN = (
    "json_extract(b.rest, '$.selection') IS NOT NULL OR EXISTS (SELECT 1 FROM job j WHERE j.id = b.id"
    " AND (json_extract(j.spec, '$.request.orderSeed') IS NOT NULL OR (json_extract(j.spec, '$.request.cache')"
    "  AND EXISTS (SELECT 1 FROM unit u WHERE u.job_id = j.id AND json_extract(u.output, '$.reusedFrom') IS NOT NULL))"
    "  OR json_extract(j.spec, '$.request.rejudgeRunId') IS NOT NULL))"
)


@frozen_type
class StoredRun:
    """A benchmark-run of a version. Runs of equal outputs, cases and judge (`said`) are one result.

    `is_side`: it is a side of a comparison. `may_pool`: it is of all cases, was not ended by what it showed, and its outputs
    are of no other run.
    """

    run: str
    version: str
    alike: str
    said: str
    is_side: bool
    may_pool: bool


def stored_runs(db: Db, versions: Sequence[str], *, until: int) -> list[StoredRun]:
    """The benchmark-runs of those versions up to a moment in milliseconds, oldest first.

    Those on the open part of a benchmark that is sealed in part are left out: nothing is decided on it.
    """
    rows = db.execute(
        f"SELECT b.id, b.prompt_version_ref, {ALIKE}, {_SAID}, b.purpose = 'comparison' OR b.id IN"
        " (SELECT benchmark_run_id_a FROM prompt_comparison UNION SELECT benchmark_run_id_b FROM prompt_comparison),"
        f" NOT ({_CHOSEN}) FROM benchmark_run b"
        " WHERE b.prompt_version_ref IN (SELECT value FROM json_each(?)) AND b.ran_at <= ?"
        " AND NOT EXISTS (SELECT 1 FROM seal WHERE open_benchmark_id = b.benchmark_id AND ended_at IS NULL) ORDER BY b.seq",
        (json.dumps(list(versions)), until),
    )
    return [StoredRun(run, of, alike, shown, bool(side), bool(pools)) for run, of, alike, shown, side, pools in rows]


def stored_outputs(db: Db, runs: Sequence[str]) -> dict[str, list[ComparedOutput]]:
    """The outputs in those runs by case, each once, as it was judged first."""
    rows = db.execute(
        "SELECT test_case_id, min(seq), min(1.0, max(0.0, total_score / max_possible_score)), passed FROM test_run"
        " WHERE benchmark_run_id IN (SELECT value FROM json_each(?)) GROUP BY test_case_id, coalesce(agent_run_id, id) ORDER BY 2",
        (json.dumps(list(runs)),),
    )
    outputs: dict[str, list[ComparedOutput]] = {}
    for case_id, place, fraction, passed in rows:
        outputs.setdefault(case_id, []).append(ComparedOutput(place, fraction, bool(passed)))
    return outputs
