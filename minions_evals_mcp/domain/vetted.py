"""The only functions that make the values which the store accepts; each holds the hard rules from above."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.domain.outcomes import Failed, Passed, Verdict
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EvalFailure, EvalJudgment, TestRun
from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.errors import InvalidRecordError, RuleError


def vetted_verdict(verdict: Verdict) -> Verdict:
    """The verdict, or the refusal of one without a rationale (HR4) or out of its range; nothing is clamped."""
    where = f"criterion {verdict.criterion_id}"
    if is_blank(verdict.rationale):
        raise RuleError("HR4", f"{where}: a judgment needs a rationale.", remedy="Say why this score was given.")
    if not verdict.min_score <= verdict.score <= verdict.max_score:
        allowed = f"{verdict.min_score:g} to {verdict.max_score:g}"
        raise InvalidRecordError(f"{verdict.score:g} is outside {allowed}", field="score", record=where)
    if is_blank(verdict.judged_by):
        raise InvalidRecordError("is missing", field="judgedBy", record=where)
    return verdict


def judgment(run_id: str, number: int, verdict: Verdict, *, at: datetime) -> Record[EvalJudgment]:
    """The judgment that a vetted verdict becomes in the run under that id."""
    fields = EvalJudgment.trusted(
        test_run_id=run_id,
        criterion_id=verdict.criterion_id,
        score=verdict.score,
        min_score=verdict.min_score,
        max_score=verdict.max_score,
        rationale=verdict.rationale,
        judged_by=verdict.judged_by,
        judged_by_type=verdict.judged_by_type,
        judged_at=at,
        confidence=verdict.confidence,
        handed_in_by=verdict.handed_in_by,
        origin=None if verdict.handed_in_by is None else "imported" if verdict.is_imported else "submitted",
    )
    return Record(f"{run_id}:j{number}", fields, f"{verdict.criterion_id}: {verdict.score:g}", at, at)


def completed(
    run: Record[TestRun],
    judgments: Sequence[Record[EvalJudgment]],
    failure: Record[EvalFailure] | None,
    *,
    metrics: Sequence[MetricScore] = (),
) -> Passed | Failed:
    """A run with its judgments; a failed one only with its eval-failure (HR3)."""
    if run.fields.passed:
        return Passed(run, tuple(judgments), tuple(metrics))
    if failure is None or failure.fields.test_run_id != run.id:
        raise RuleError("HR3", f"the failed test-run {run.id} has no eval-failure.")
    return Failed(run, tuple(judgments), failure, tuple(metrics))
