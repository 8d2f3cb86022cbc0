"""The verdict of a run as a message carries it: figures, reason, regression, and the failure with its cause."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import UNSCORED, EvalFailure, TestRun
from minions_evals_mcp.scoring.verdicts.history import score_fraction
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job

if TYPE_CHECKING:
    from minions_evals_mcp.scoring.failure_causes import CauseGroup

MOST_TRIALS = 100
"""The most test-runs and unscored units that one verdict lists."""

NAMED_CAUSES = 3
"""The most causes of failures that one verdict lists."""


def run_verdict(db: Db, job: Job) -> Json:
    """The job's id, state and reason, with the verdict that it came to so far."""
    wire: Json = {"runId": job.id, "state": job.state, "reason": job.reason}
    if job.kind == "test-case":
        verdict = _of_case(db, job)
        return {**wire, **verdict, "reason": job.reason or verdict.get("reason", "")}
    run = runs.benchmark_run(db, job.id)
    if run is None:
        return wire
    fields = run.fields
    from minions_evals_mcp.store.queries import failure_causes  # noqa: PLC0415  only where a message is answered

    causes = failure_causes.causes_of_test_runs(db, runs.failed_ids(db, job.id))
    told = [_cause(group, causes.cases) for group in causes.groups[:NAMED_CAUSES]]
    figures: Json = {
        "overallScore": fields.overall_score, "passRate": fields.pass_rate, "passed": fields.passed,
        "passedCount": fields.passed_count, "totalCount": fields.total_count, "errorCount": fields.error_count,
        "isRegression": fields.is_regression, "evidence": fields.evidence, "causes": list[JsonValue](told),
    }  # fmt: skip
    counted = f"{fields.passed_count} of {fields.total_count} passed"
    first = "" if not told else f"; {told[0]['summary']}"
    return {**wire, **figures, "reason": job.reason or f"{counted}{first}"}


def _cause(group: CauseGroup, total: int) -> Json:
    """A cause of failures, with the first of its cases."""
    from minions_evals_mcp.scoring.failure_causes import cause_sentence  # noqa: PLC0415  as above

    return {
        "summary": cause_sentence(group, group.cases, total, older=None, since="", came_back=0),
        "failureType": group.failure_type, "cases": group.cases, "suggestion": group.suggestion,
        "testCaseIds": [example.test_case_id for example in group.examples],
    }  # fmt: skip


def _of_case(db: Db, job: Job) -> Json:
    """Of one trial its verdict itself; of several the verdict over all of them, and each."""
    tried = runs.job_runs(db, job.id, limit=MOST_TRIALS)
    reasons = runs.rationales_of(db, [run.id for run in tried])
    failures = runs.failures_of(db, [run.id for run in tried if not run.fields.passed])
    each = [_of_run(run, reasons.get(run.id, ""), failures.get(run.id)) for run in tried]
    unscored: list[JsonValue] = [
        {"trial": row.key.trial, "outcome": row.outcome, "reason": row.reason}
        for row in jobs.units_with(db, job.id, (*UNSCORED, "skipped"), limit=MOST_TRIALS)
    ]
    missing: Json = {"unscored": unscored} if unscored else {}
    if not each:
        return {"passed": None, "score": None, **missing}
    if len(each) == 1:
        return {**each[0], **missing}
    worst = min(range(len(tried)), key=lambda number: (tried[number].fields.passed, _score(tried[number])))
    overall: Json = {
        **each[worst],
        "passed": all(run.fields.passed for run in tried),
        "score": fmean(_score(run) for run in tried),
        "isRegression": any(run.fields.is_regression for run in tried),
        "testRuns": list[JsonValue](each),
    }
    return {**overall, **missing}


def _score(run: Record[TestRun]) -> float:
    return score_fraction(run.fields.total_score, run.fields.max_possible_score)


def _of_run(run: Record[TestRun], reason: str, failure: Record[EvalFailure] | None) -> Json:
    fields = run.fields
    wire: Json = {
        "testRunId": run.id, "trial": fields.trial, "passed": fields.passed, "score": _score(run), "reason": reason,
        "isRegression": fields.is_regression, "regressionType": fields.regression_type,
    }  # fmt: skip
    if failure is None:
        return wire
    found = failure.fields
    return {
        **wire,
        "failure": {
            "id": failure.id, "failureType": found.failure_type, "severity": found.severity,
            "description": found.description, "rootCause": found.root_cause,
        },
    }  # fmt: skip
