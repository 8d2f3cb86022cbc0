"""From an output and its verdicts to the run that is kept: pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.metric_scores import CheckScore, MetricScore
from minions_evals_mcp.domain.outcomes import Failed, Passed, UnitKey, Verdict
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import DecidedBy, Digests, EvalFailure, TestRun
from minions_evals_mcp.domain.vetted import completed, judgment, vetted_verdict
from minions_evals_mcp.engine.judge.likeness import metrics_of
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, ByExpectation, Measure
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.heuristic import AND, guide, is_rule
from minions_evals_mcp.judges.task import Work, judge_text
from minions_evals_mcp.scoring.failure_causes import cause_key
from minions_evals_mcp.scoring.failures.failed import OWN_CHECKS, Analysis, FailedCriterion, FailedOutput
from minions_evals_mcp.scoring.rubric import RubricInUse, Totals, fraction, run_judge_type, totals
from minions_evals_mcp.scoring.verdicts.addressed import addressing_words, caution
from minions_evals_mcp.scoring.verdicts.expected import missed, missing_keys
from minions_evals_mcp.scoring.verdicts.history import sample, score_fraction, standing
from minions_evals_mcp.skills import ClassifyFailureParameters

RULES = "rules/4"
"""Who classified, where the rules did; raised when the rules change."""
WANTS_JSON = frozenset({"is-json", "contains-json"})


@frozen_type
class OutputVerdicts:
    """An output with all its verdicts, when each was given, and the metrics that its checks named."""

    verdicts: tuple[tuple[Verdict, datetime], ...]
    judge_digest: str
    metrics: tuple[MetricScore, ...] = ()
    passed: bool | None = None
    wants_json: bool = False
    embedder: str | None = None
    checks: tuple[CheckScore, ...] = ()


@frozen_type
class OutputVersion:
    """The version that an output was made with, as its test-run keeps it; all None where that is not known."""

    ref: str | None = None
    number: int | None = None
    content_digest: str | None = None


UNKNOWN_VERSION = OutputVersion()


@frozen_type
class RunDefaults:
    """The part that all runs of one job have in common."""

    benchmark_run_id: str | None
    target_digest: str | None
    scorer: str
    thresholds: ClassifyFailureParameters


def compose(  # noqa: PLR0913  what a run is made of
    key: UnitKey,
    measure: Measure,
    work: Work,
    judged: OutputVerdicts,
    *,
    frame: RunDefaults,
    version: OutputVersion = UNKNOWN_VERSION,
    at: datetime,
) -> Passed | Failed:
    """The run, its judgments and (where it failed) its failure."""
    verdicts = [vetted_verdict(verdict) for verdict, _ in judged.verdicts]
    run = _run(key, measure, work, judged, verdicts, frame=frame, version=version, at=at)
    judgments = [
        judgment(run.id, number, verdict, at=when)
        for number, (verdict, (_, when)) in enumerate(zip(verdicts, judged.verdicts, strict=True), 1)
    ]
    failure = None if run.fields.passed else _failure(run, measure, work, verdicts, judged, frame=frame)
    return completed(run, judgments, failure, metrics=judged.metrics)


def _totals(measure: Measure, verdicts: Sequence[Verdict], judged: OutputVerdicts) -> Totals:
    if isinstance(measure.yardstick, RubricInUse):
        return totals(measure.yardstick, verdicts)
    (verdict,) = verdicts
    return Totals(verdict.score, verdict.max_score, bool(judged.passed))


def _decided_by(measure: Measure) -> DecidedBy:
    if isinstance(measure.yardstick, RubricInUse):
        return "rubric_threshold"
    if isinstance(measure.yardstick, ByAssertions):
        return "assertions"
    return measure.case.fields.pass_rule or "max_score"


def _run(  # noqa: PLR0913  as above
    key: UnitKey,
    measure: Measure,
    work: Work,
    judged: OutputVerdicts,
    verdicts: Sequence[Verdict],
    *,
    frame: RunDefaults,
    version: OutputVersion,
    at: datetime,
) -> Record[TestRun]:
    seen = work.observed
    summed = _totals(measure, verdicts, judged)
    rubric = measure.yardstick if isinstance(measure.yardstick, RubricInUse) else None
    passed = summed.passed and not seen.timed_out and seen.agent_error is None
    fields = TestRun.trusted(
        test_case_id=measure.case.id,
        agent_run_id=seen.agent_run_id,
        prompt_version_ref=version.ref,
        prompt_version=version.number,
        benchmark_run_id=frame.benchmark_run_id,
        trial=key.trial,
        outcome="timed-out" if seen.timed_out else "scored",
        actual_output=seen.output,
        passed=passed,
        total_score=summed.score,
        max_possible_score=summed.possible,
        ran_at=at,
        duration_ms=round(seen.latency_ms or 0),
        judge_type=run_judge_type(rubric, verdicts) if rubric else verdicts[0].judged_by_type,
        rubric_id=rubric.id if rubric else None,
        rubric_version=rubric.rubric.version if rubric else None,
        digests=Digests.trusted(
            test_case=measure.case_digest(),
            rubric=measure.rubric_digest(),
            judge=judged.judge_digest,
            scorer=frame.scorer,
            embedder=judged.embedder,
            prompt_version=version.content_digest,
            target=frame.target_digest if seen.agent_run_id is None else None,
        ),
        produced_by=seen.produced_by,
        self_judged=seen.produced_by is not None
        and any(seen.produced_by in verdict.judged_by.split(AND) for verdict in verdicts),
        execution_id=seen.execution_id,
        pass_rule=_decided_by(measure),
        latency_ms=seen.latency_ms,
        input_tokens=seen.input_tokens,
        output_tokens=seen.output_tokens,
        cost_usd=seen.cost_usd,
        checks=judged.checks,
        asked_digest=measure.asked_digest if judged.checks else None,
        group=measure.case.fields.group or seen.group,
        answered_by=", ".join(sorted({verdict.answered_by for verdict in verdicts if verdict.answered_by})) or None,
    )
    outcome = "passed" if passed else "failed"
    by_model = any(verdict.judged_by_type == "llm" for verdict in verdicts)
    words = addressing_words(work.read, (judge_text(work.inputs), judge_text(work.expected or {}))) if by_model else ""
    fields = _against(fields, work)
    if words:
        fields = fields.with_trusted(addresses_judge=True, warnings=(*fields.warnings, caution(words)))
    return Record(key.run_id, fields, f"{measure.case.title}: {outcome}", at, at)


def _against(run: TestRun, work: Work) -> TestRun:
    """The run with how it compares with what was expected and with the runs before it."""
    metrics = {} if work.likeness is None else metrics_of(work.likeness)
    against = _against_earlier(run, work) if work.earlier else {}
    return run.with_trusted(**metrics, **against) if metrics or against else run


def _against_earlier(run: TestRun, work: Work) -> dict[str, object]:
    likeness = work.likeness
    now = sample(
        passed=run.passed,
        fraction=score_fraction(run.total_score, run.max_possible_score),
        semantic_score=likeness and likeness.semantic_score,
        decided_by=run.pass_rule,
        digests=run.digests,
        output=run.actual_output,
    )
    stands = standing(now, work.earlier)
    return {
        "is_regression": bool(stands.regression_types),
        "regression_type": next(iter(stands.regression_types), None),
        "regression_types": stands.regression_types,
        "flipped": stands.flipped,
    }


def _failure(
    run: Record[TestRun], measure: Measure, work: Work, verdicts: Sequence[Verdict], judged: OutputVerdicts, *, frame: RunDefaults
) -> Record[EvalFailure]:  # fmt: skip
    from minions_evals_mcp.scoring.classification.classify import classify  # noqa: PLC0415  47 modules that a passed run needs none of

    analysis = classify(
        failed_output(measure, work, verdicts, wants_json=judged.wants_json),
        critical_below=frame.thresholds.critical_below,
        major_below=frame.thresholds.major_below,
    )
    return failure_record(run, analysis)


def failed_output(measure: Measure, work: Work, verdicts: Sequence[Verdict], *, wants_json: bool) -> FailedOutput:
    """The failed output as the classification sees it."""
    seen = work.observed
    expected, text = _missed(measure, work)
    turns, talk = work.subject.turns, measure.case.fields.conversation
    said: list[JsonValue] = [turn.user for turn in turns] or [*seen.heard]
    criteria = tuple(_failed_criterion(measure, verdict) for verdict in verdicts)
    weight = sum(criterion.weight for criterion in criteria)
    return FailedOutput(
        output=seen.output,
        text=text,
        inputs={**work.inputs, "conversation": said} if said else work.inputs,
        expected=expected,
        tool_calls=seen.tool_calls or (),
        has_log=seen.tool_calls is not None,
        timed_out=seen.timed_out,
        stop_reason=seen.finish_reason,
        wants_json=wants_json,
        agent_error=seen.agent_error,
        score_fraction=sum(criterion.fraction * criterion.weight for criterion in criteria) / weight if weight else 0.0,
        criteria=criteria,
        checks=_checks(measure),
        is_talk=len(said) > 1,
        turns=turns,
        knows={} if talk is None else talk.knows,
        missing_keys=missing_keys(work.expected, seen.output) if isinstance(measure.yardstick, ByExpectation) else (),
    )


def _missed(measure: Measure, work: Work) -> tuple[Json | None, str]:
    """What was expected and what came instead: of several keys those that are not as expected, for the others cause nothing."""
    if not isinstance(measure.yardstick, ByExpectation) or work.expected is None or len(work.expected) < 2:
        return work.expected, work.text
    expected = missed(work.expected, work.observed.output, work.subject)
    if not expected or len(expected) == len(work.expected):
        return work.expected, work.text
    return expected, output_text({key: work.observed.output[key] for key in expected if key in work.observed.output})


def _checks(measure: Measure) -> tuple[Assertion, ...]:
    """The assertions that the output was judged by: the case's own, or those of the rubric's rule-based criteria."""
    if isinstance(measure.yardstick, ByAssertions):
        return measure.yardstick.assertions
    if not isinstance(measure.yardstick, RubricInUse):
        return ()
    guides = [guide(criterion.scoring_guide) for _, criterion in measure.yardstick.criteria if is_rule(criterion)]
    return tuple(assertion for rules in guides if not isinstance(rules, str) for assertion in rules)


def _failed_criterion(measure: Measure, verdict: Verdict) -> FailedCriterion:
    if not isinstance(measure.yardstick, RubricInUse):
        return FailedCriterion(verdict.criterion_id, OWN_CHECKS, fraction(verdict), 1.0, verdict.rationale)
    criterion = dict(measure.yardstick.criteria).get(verdict.criterion_id)
    name, weight = (criterion.name, criterion.weight) if criterion else (verdict.criterion_id, 1.0)  # edited since
    by_rule = verdict.judged_by_type == "heuristic"
    return FailedCriterion(
        verdict.criterion_id, name, fraction(verdict), weight, verdict.rationale, by_rule, _points(verdict)
    )


def _points(verdict: Verdict) -> str:
    """The score on the criterion's own scale, the one that its judgments have."""
    low, high = verdict.min_score, verdict.max_score
    return f"{verdict.score:g} of {high:g}" if low == 0 else f"{verdict.score:g} on {low:g} to {high:g}"


def failure_record(run: Record[TestRun], analysis: Analysis) -> Record[EvalFailure]:
    """The eval-failure that goes with a failed run."""
    fields = EvalFailure.trusted(
        test_run_id=run.id,
        benchmark_run_id=run.fields.benchmark_run_id,
        failure_type=analysis.failure_type,
        description=analysis.description,
        affected_criterion_ids=analysis.affected_criterion_ids,
        severity=analysis.severity,
        root_cause=analysis.root_cause,
        classified_by=RULES,
        confidence=analysis.confidence,
        signals=analysis.signals,
        cause_key=cause_key(
            analysis.failure_type, analysis.root_cause, analysis.signals, analysis.affected_criterion_ids
        ),
    )
    at = run.fields.ran_at
    return Record(f"{run.id}:failure", fields, f"{analysis.failure_type}: {run.fields.test_case_id}", at, at)
