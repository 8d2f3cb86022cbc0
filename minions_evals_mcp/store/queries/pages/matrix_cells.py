"""Cases × runs: how each case came out in each of several runs, those on which the runs differ first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages.run_cases import INPUTS

Only = Literal["", "apart", "failed", "noted"]
"""All cases, those on which the runs differ, those that failed in one of them, or those with a note of a person."""


@dataclass(frozen=True, slots=True)
class MatrixCase:
    """A case with its trial; `apart`: not all runs came to the same verdict."""

    case_id: str
    trial: int
    title: str
    apart: bool
    asked: str | None
    """The beginning of its inputs."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One case in one run; `reason`: why it has no verdict, else what its judges said where it failed."""

    run_id: str
    place: str
    outcome: str
    passed: bool | None
    score: float | None
    output: str
    cost_usd: float | None
    latency_ms: float | None
    reason: str
    thumb: bool | None
    """What a person thought of the output, by the newest note, of which `note` tells why."""
    note: str


_FAILED_CHECKS = (
    "failed_check AS (SELECT u.case_id, u.trial, c.value ->> '$.name' AS name FROM unit u JOIN test_run r ON r.id = u.test_run_id,"
    " json_each(r.rest, '$.checks') c WHERE u.job_id IN (SELECT value FROM json_each(:runs)) AND NOT c.value ->> '$.passed'"
    " UNION ALL SELECT u.case_id, u.trial, CASE WHEN j.criterion_id LIKE 'implicit:%' THEN 'expected output'"
    " ELSE coalesce(m.title, j.criterion_id) END FROM unit u JOIN test_run r ON r.id = u.test_run_id"
    " JOIN eval_judgment j ON j.test_run_id = r.id LEFT JOIN minion m ON m.id = j.criterion_id"
    " WHERE u.job_id IN (SELECT value FROM json_each(:runs)) AND j.score < j.max_score"
    " AND NOT (j.criterion_id LIKE 'implicit:%' AND r.rest -> '$.checks' IS NOT NULL))"
)
"""The checks that did not pass, by case and name: those of the cases themselves, the criteria of rubrics, what was expected."""


def failed_checks(db: Db, run_ids: Sequence[str], *, limit: int) -> list[tuple[str, int]]:
    """The checks that failed in one of those runs with the number of their cases, those of the most cases first."""
    rows = db.execute(
        f"WITH {_FAILED_CHECKS} SELECT name, count(DISTINCT case_id || ' ' || trial) FROM failed_check GROUP BY name"
        " ORDER BY 2 DESC, 1 LIMIT :limit",
        {"runs": json.dumps(list(run_ids)), "limit": limit},
    )
    return [(name, count) for name, count in rows]


def matrix_cases(  # noqa: PLR0913  each is a part of the address
    db: Db,
    run_ids: Sequence[str],
    *,
    only: Only = "",
    text: str = "",
    sort: str = "",
    check: str = "",
    skip: int,
    limit: int,
) -> tuple[list[MatrixCase], int]:
    """A page of the cases of those runs, and how many there are; those on which they differ first, or by the scores of `sort`.

    `check`: only those that failed the check of that name somewhere.
    """
    failing = f"{_FAILED_CHECKS}, " if check else ""
    among = (
        " AND (c.case_id, c.trial) IN (SELECT case_id, trial FROM failed_check WHERE name = :check)" if check else ""
    )
    rows = db.execute(
        f"WITH {failing}c AS (SELECT u.case_id, u.trial, min(u.position) AS position,"
        " count(DISTINCT coalesce(r.passed, -1)) > 1 AS apart, sum(coalesce(r.passed, 0)) AS passes,"
        " max(r.passed = 0) AS failed FROM unit u"
        " LEFT JOIN test_run r ON r.id = u.test_run_id WHERE u.job_id IN (SELECT value FROM json_each(:runs))"
        " GROUP BY u.case_id, u.trial)"
        " SELECT c.case_id, c.trial, coalesce(m.title, c.case_id), c.apart,"
        f" {INPUTS}, count(*) OVER () FROM c"
        " LEFT JOIN minion m ON m.id = c.case_id WHERE CASE :only WHEN 'apart' THEN c.apart WHEN 'failed' THEN c.failed"
        " WHEN 'noted' THEN EXISTS (SELECT 1 FROM output_note n WHERE n.case_id = c.case_id AND n.trial = c.trial"
        " AND n.job_id IN (SELECT value FROM json_each(:runs))) ELSE 1 END"
        " AND (:text = '' OR instr(lower(concat(c.case_id, ' ', m.title)), lower(:text)) > 0)"
        f"{among} ORDER BY CASE WHEN :sort = '' THEN 0 ELSE (SELECT s.total_score / s.max_possible_score FROM unit v JOIN test_run s"
        " ON s.id = v.test_run_id WHERE v.job_id = :sort AND v.case_id = c.case_id AND v.trial = c.trial) END,"
        " c.apart DESC, c.passes, c.position, c.trial LIMIT :limit OFFSET :skip",
        {
            "runs": json.dumps(list(run_ids)),
            "only": only,
            "text": text,
            "sort": sort,
            "check": check,
            "limit": limit,
            "skip": skip,
        },
    ).fetchall()
    cases = [MatrixCase(ident, trial, title, bool(differs), given) for ident, trial, title, differs, given, _ in rows]
    return cases, rows[0][-1] if rows else 0


def matrix_cells(db: Db, run_ids: Sequence[str], case_ids: Sequence[str]) -> dict[tuple[str, int, str], MatrixCell]:
    """The cells of those cases by case, trial and run."""
    rows = db.execute(
        "SELECT u.case_id, u.trial, u.job_id, u.position || '.' || u.trial, coalesce(u.outcome, ''), r.passed,"
        " r.total_score / r.max_possible_score, substr(coalesce(r.rest ->> '$.actualOutput.output', r.rest -> '$.actualOutput',"
        " u.output ->> '$.output.output', u.output -> '$.output', ''), 1, 260), r.rest ->> '$.costUsd', r.rest ->> '$.latencyMs',"
        " CASE r.passed WHEN 0 THEN (SELECT substr(group_concat(j.rationale, '; '), 1, 300) FROM eval_judgment j"
        " WHERE j.test_run_id = r.id AND j.score < j.max_score) ELSE u.reason END,"
        " n.good, coalesce(n.noted_by || ': ' || n.reason, '') FROM unit u LEFT JOIN output_note n ON n.seq ="
        " (SELECT max(seq) FROM output_note WHERE job_id = u.job_id AND position = u.position AND trial = u.trial)"
        " LEFT JOIN test_run r ON r.id = u.test_run_id WHERE u.job_id IN (SELECT value FROM json_each(?))"
        " AND u.case_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(run_ids)), json.dumps(list(case_ids))),
    )
    return {
        (case_id, trial, run_id): MatrixCell(
            run_id,
            place,
            outcome,
            None if passed is None else bool(passed),
            *rest,
            thumb=None if good is None else bool(good),
            note=note,
        )
        for case_id, trial, run_id, place, outcome, passed, *rest, good, note in rows
    }


def newest_of_versions(db: Db, benchmark_id: str, *, limit: int) -> list[str]:
    """The newest run of each version of the prompt, of those that ran last; those of comparisons, too."""
    rows = db.execute(
        "SELECT id FROM (SELECT id, prompt_version_ref, ran_at, row_number() OVER"
        " (PARTITION BY prompt_version_ref ORDER BY ran_at DESC, seq DESC) AS nth FROM benchmark_run WHERE benchmark_id = ?)"
        " WHERE nth = 1 ORDER BY ran_at DESC LIMIT ?",
        (benchmark_id, limit),
    ).fetchall()
    return [row[0] for row in reversed(rows)]
