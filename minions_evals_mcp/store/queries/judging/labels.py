"""The labels of people and models on the outputs of one benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judge_labels import is_label


@dataclass(frozen=True, slots=True)
class Rating:
    """A judgment by a person or a model. Equal `about` and criterion: the same output, measured with the same words."""

    about: tuple[str, int, str]
    test_case_id: str
    trial: int
    criterion_id: str
    by_person: bool
    judged_by: str
    score: float
    min_score: float
    max_score: float
    rationale: str
    test_run_id: str


def ratings(db: Db, benchmark_id: str) -> Iterator[Rating]:
    """The judgments of people and models in all runs of the benchmark, oldest first; runs that still wait count, too."""
    rows = db.execute(
        "SELECT r.id, r.test_case_id, r.trial, json_extract(r.rest, '$.digests.testCase', '$.digests.rubric'),"
        " json_extract(r.rest, '$.actualOutput') FROM job j JOIN test_run r ON r.benchmark_run_id = j.id"
        " WHERE j.kind = 'benchmark' AND j.subject_id = ? AND EXISTS"
        " (SELECT 1 FROM eval_judgment e WHERE e.test_run_id = r.id AND e.judged_by_type <> 'heuristic')",
        (benchmark_id,),
    )
    about = {
        ident: (case, trial, digest([json.loads(by), json.loads(output)])) for ident, case, trial, by, output in rows
    }
    judged = db.execute(
        f"SELECT test_run_id, criterion_id, {is_label('eval_judgment')}, judged_by, score, min_score, max_score, rationale"
        " FROM eval_judgment WHERE judged_by_type <> 'heuristic' AND test_run_id IN (SELECT value FROM json_each(?)) ORDER BY seq",
        (json.dumps(list(about)),),
    )
    for run_id, criterion_id, by_person, judged_by, score, low, high, rationale in judged:
        case, trial, _ = about[run_id]
        yield Rating(
            about[run_id], case, trial, criterion_id, bool(by_person), judged_by, score, low, high, rationale, run_id
        )
