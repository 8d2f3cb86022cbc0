"""From a benchmark's test-runs to its benchmark-run, regression, trend and what is told: all in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EVIDENCE_WORDS, BenchmarkRun, ComparedPart, EvalFailure, EvalMetric
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.conclude.canaries import canary_note, tell_canaries
from minions_evals_mcp.engine.conclude.detect_trend import record_trend
from minions_evals_mcp.engine.conclude.earlier_run import (
    Concluding,
    EarlierRunStanding,
    Regression,
    standing,
)
from minions_evals_mcp.engine.conclude.failure_causes import causes_of_a_fall, record_causes
from minions_evals_mcp.engine.conclude.fall_notice import tell_fall
from minions_evals_mcp.engine.conclude.grouping import grouping_notes
from minions_evals_mcp.engine.conclude.newly_failing import failure_groups_of
from minions_evals_mcp.engine.conclude.output_origins import output_origins
from minions_evals_mcp.engine.conclude.setup import (
    CASES,
    changes_said,
)
from minions_evals_mcp.engine.conclude.strange_outputs import strange_outputs
from minions_evals_mcp.engine.judge.compose import RULES
from minions_evals_mcp.engine.outbox import message, queue, task
from minions_evals_mcp.scoring.failure_causes import tells_cause
from minions_evals_mcp.scoring.rubric import TOLERANCE
from minions_evals_mcp.stats.intervals import pass_rate_interval, score_interval
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.benchmarks import BenchmarkHead, benchmark_head, note_last_run
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries import outputs, shared_cases
from minions_evals_mcp.store.rows import insert

NAMED_SKIPPED = 20
BY_RULE = "rules"
"""Who judged, where rules stood in for a model."""


def conclude(db: Db, about: Concluding) -> Record[BenchmarkRun]:
    """Writes the benchmark-run and all that follows from it; the caller's transaction makes it all or nothing."""
    benchmark = benchmark_head(db, about.request.subject_id)
    about = _with_answering(db, about)
    means = runs.means(db, about.run_id)
    beside = standing(db, about, benchmark.id, means)
    run = _benchmark_run(db, about, benchmark, beside)
    if run.fields.is_standing:
        record_causes(db, run, benchmark, at=about.at)
    if beside.canaries:
        tell_canaries(db, run, benchmark)
    if beside.regression is not None:
        _tell_regression(db, about, benchmark, run, beside.regression)
    elif beside.fall is not None:
        tell_fall(db, run, benchmark, beside.fall, changed=changes_said(beside.origins.changed))
    runs.record_benchmark_run(db, run, judged_alike=about.judged_alike, series_key=about.series, at=about.at)
    _record_metrics(db, run, means)
    if run.fields.is_standing:
        note_last_run(db, benchmark.id, run.fields)
        record_trend(db, run, about.series, rule=about.skills.detect_trend.parameters, benchmark=benchmark)
        if beside.regression is None and run.fields.passed is False:
            _tell_below_threshold(db, benchmark, run, beside.dropped_most, about.at)
    return run


def _with_answering(db: Db, about: Concluding) -> Concluding:
    """The material with the models that answered for the judges: where they changed, the run stands in a series of its own."""
    models = runs.answering_models(db, about.run_id)
    before = runs.answering_models_in(db, series=about.series)
    moved = models is not None and before is not None and models != before
    return replace(about, answered_by=models, series=digest([about.series, models]) if moved else about.series)


def _benchmark_run(
    db: Db, about: Concluding, benchmark: BenchmarkHead, beside: EarlierRunStanding
) -> Record[BenchmarkRun]:  # fmt: skip
    sums, shared = runs.sums(db, about.run_id), beside.shared
    overall = min(1.0, max(0.0, sums.scores.scores / sums.scores.maxima))
    interval = pass_rate_interval(sums.passes)
    assert interval is not None, "a concluded run has test-runs"
    threshold = benchmark.passing_threshold
    fields = BenchmarkRun(
        benchmark_id=benchmark.id,
        overall_score=overall,
        pass_rate=100 * sums.passed / sums.runs,
        passed_count=sums.passed,
        total_count=sums.runs,
        error_count=about.unscored,
        passed=None if threshold is None else overall >= threshold - TOLERANCE,
        ran_at=about.at,
        triggered_by=about.request.triggered_by,
        notes=_notes(db, about, beside, sums=sums, effective=interval.effective),
        prompt_version_ref=about.request.prompt_version_ref or beside.origins.version,
        purpose=about.request.purpose,
        selection=about.request.selection,
        trials=about.request.trials,
        score_ci=interval.bounds if sums.passes_score else score_interval(sums.scores),
        pass_rate_ci=(100 * interval.bounds[0], 100 * interval.bounds[1]),
        groups=sums.passes.units if sums.passes.units < sums.cases else None,
        effective_cases=interval.effective if sums.passes.units < sums.cases else None,
        evidence=shared.evidence if shared and shared.cases else None,
        is_regression=beside.regression is not None,
        fallen_since=beside.fallen_since,
        fall=beside.fall,
        canaries_passed=beside.canaries,
        cached=_is_cached(db, about.run_id),
        digests=beside.origins.digests,
        answered_by=about.answered_by,
        compared_with=beside.alike.id if beside.alike is not None and beside.is_older else None,
        not_compared=beside.not_compared if about.request.purpose != "comparison" else "",
        compared_part=_compared_part(db, about, beside, sums.cases),
        judged_by=(runs.judges_of(db, about.run_id) or (BY_RULE,)) if about.stood_in else (),
    )
    title = f"{benchmark.title}: {_counted(sums.passed, sums.runs, about.request.trials)}"
    return Record(about.run_id, fields, title, about.at, about.at)


def _is_cached(db: Db, run_id: str) -> bool:
    """Tells whether all its outputs came from the cache of a target, and none was made or recorded for it."""
    origins = jobs.count_origins(db, run_id)
    return origins.cached > 0 and origins.made == origins.recorded == 0


def _counted(passed: int, total: int, trials: int) -> str:
    return f"{passed} of {total}{' trials' if trials > 1 else ''} passed"


def _notes(db: Db, about: Concluding, beside: EarlierRunStanding, *, sums: runs.Sums, effective: float) -> str:
    """Returns what a reader must know: cases that were not run, and why this run stands alone."""
    notes = [*strange_outputs(outputs.outputs_of_run(db, about.run_id), sums.runs)]
    if beside.canaries:
        notes.insert(0, canary_note(beside.canaries))
    notes += [*grouping_notes(db, about.run_id, sums, effective)]
    if about.request.selection is not None:
        notes.append(f"not the whole benchmark: {about.request.selection}")
    if _is_cached(db, about.run_id):
        notes.append("every output came from the cache, so it does not count for the trend or the last score")
    if origins := output_origins(db, about.run_id, about.request):
        notes.insert(0, origins)
    if about.request.judge == "human" and not runs.judges_of(db, about.run_id):
        notes.append("nobody was asked: all checks are rules. A rubric with judgeType human or llm asks a person")
    if about.skipped:
        notes.append(f"skipped: {first_named(about.skipped, NAMED_SKIPPED)}")
    if about.unrun:
        notes.append(about.unrun)
    if about.unscored:
        notes.append(f"{about.unscored} could not be scored")
    return "; ".join((*notes, *_beside_notes(db, about, beside)))


def _beside_notes(db: Db, about: Concluding, beside: EarlierRunStanding) -> Iterator[str]:
    """Yields what of the run before it is not compared with, and what changed since."""
    if beside.is_older and beside.alike is not None and beside.newest is not None:
        yield f"compared with {beside.alike.id}: {beside.newest.id} has another judge, rubric or target"
    if beside.not_compared:
        yield beside.not_compared
        return
    if beside.alike is not None and CASES in beside.origins.changed:
        yield from _edited_notes(shared_cases.not_compared(db, beside.alike.id, about.run_id), beside.alike.id)
    if beside.regression is not None:
        yield changes_said(beside.regression.changed)


def _compared_part(db: Db, about: Concluding, beside: EarlierRunStanding, cases: int) -> ComparedPart | None:
    """The part of the run that is compared with the earlier one, where a case of either is not."""
    if beside.alike is None or beside.shared is None or not beside.shared.cases:
        return None
    gone = 0 if about.request.selection is not None else shared_cases.gone(db, beside.alike.id, about.run_id)
    compared = min(cases, beside.shared.cases)
    if compared == cases and not gone:
        return None
    return ComparedPart(since=beside.alike.id, compared=compared, cases=cases, gone=gone)


def _edited_notes(edited: Mapping[str, bool], before: str) -> Iterator[str]:
    """Yields which cases were edited since the run before, and so are not compared with it; first those that fail since."""
    since = [case_id for case_id, is_worse in edited.items() if is_worse]
    if since:
        yield f"{first_named(since, NAMED_SKIPPED)} fail{'s' * (len(since) == 1)} after an edit, which is not a regression"
    others = [case_id for case_id, is_worse in edited.items() if not is_worse]
    if others:
        yield f"edited since {before} and therefore not compared: {first_named(others, NAMED_SKIPPED)}"


def _record_metrics(db: Db, run: Record[BenchmarkRun], means: Sequence[runs.Mean]) -> None:
    titles = Counter(mean.title for mean in means)
    for number, mean in enumerate(means, 1):
        dimension = mean.title if titles[mean.title] == 1 else mean.dimension
        fields = EvalMetric(
            benchmark_run_id=run.id,
            dimension=dimension,
            score=mean.score,
            max_score=mean.max_score,
            notes=f"mean of {mean.runs}",
        )
        insert(
            db, Record(f"{run.id}:m{number}", fields, f"{dimension}: {mean.score:.3f}", run.created_at, run.updated_at)
        )


def _tell_regression(
    db: Db, about: Concluding, benchmark: BenchmarkHead, run: Record[BenchmarkRun], fall: Regression
) -> None:
    """The critical eval-failure, the task and the message to the orchestrator: at once, with the run (HR5)."""
    rule = about.skills.run_benchmark.parameters
    worst = fall.failing[0]
    shared = fall.shared
    sentence = (
        f"{benchmark.title}: passes dropped from {shared.previous_passed} of {shared.previous_total} to {shared.passed} of "
        f"{shared.total} ({EVIDENCE_WORDS[fall.evidence]}); {shared.worse} {'case' if shared.worse == 1 else 'cases'} got worse,"
        f" {shared.better} better."
    )
    if about.request.selection is not None:
        sentence += f" Only these cases were run: {about.request.selection}."
    if fall.dropped_most:
        sentence += f" {fall.dropped_most}."
    groups = failure_groups_of(db, fall.failing)
    causes = causes_of_a_fall(db, benchmark.id, [failure.run_id for failure in fall.failing])
    summaries = [summary for cause in causes[:2] if tells_cause((summary := str(cause["summary"])).partition(": ")[2])]
    sentence += f" {'; '.join(summaries)}." if summaries else ""
    sentence += f" The run before: {fall.previous.id}; {changes_said(fall.changed)}."
    kinds: Counter[FailureType] = Counter(failure.failure_type for failure in fall.failing)
    ((common, _),) = kinds.most_common(1)
    named = [*dict.fromkeys(failure.case_id for failure in fall.failing)][
        :NAMED_SKIPPED
    ]  # a case is named once, whatever its trials
    failure = EvalFailure(
        test_run_id=worst.run_id,
        benchmark_run_id=run.id,
        failure_type=common,
        description=sentence,
        affected_criterion_ids=groups.criteria,
        severity=rule.severity,
        root_cause=f"{'; '.join(str(cause['summary']) for cause in causes)}; {groups.in_words()}; largest loss: {worst.case_id}",
        classified_by=RULES,
        confidence=1.0 if fall.evidence == "supported" else 0.5,
        signals=tuple(f"newly failing: {case_id}" for case_id in named),
    )
    record = Record(f"{run.id}:regression", failure, f"regression: {benchmark.title}", about.at, about.at)
    insert(db, record)
    append(db, Event("regression-found", "eval-failure", record.id, {"benchmarkRunId": run.id}), at=about.at)
    to_do = task(rule.task_title, sentence, priority="critical", about=run.id, owner=benchmark.owner_id, at=about.at)
    queue(db, f"{run.id}:task", to_do, key=f"investigate-regression:{run.id}", at=about.at)
    payload: Json = {
        "causes": [*causes], "benchmarkId": benchmark.id, "benchmarkRunId": run.id, "previousRunId": fall.previous.id, "summary": sentence,
        "evidence": fall.evidence, "newlyFailing": [*named],
        "evalFailureId": record.id, "whatChanged": list(fall.changed), "rootCause": failure.root_cause,
    }  # fmt: skip
    announcement = message("benchmark-regression", payload, at=about.at)
    queue(db, f"{run.id}:message", announcement, key=f"benchmark-regression:{run.id}", at=about.at)


def _tell_below_threshold(
    db: Db, benchmark: BenchmarkHead, run: Record[BenchmarkRun], fallen: str | None, at: datetime
) -> None:
    """One task each time the benchmark falls below its threshold, until it passes again."""
    threshold = benchmark.passing_threshold
    assert threshold is not None, "a failed run has a threshold"
    title = f"Investigate {benchmark.title}: {run.fields.overall_score:.2f} below {threshold:.2f}"
    since = runs.last_passing(db, benchmark.id, threshold - TOLERANCE) or "the beginning"
    counted = _counted(run.fields.passed_count, run.fields.total_count, run.fields.trials)
    sentence = f"{counted} in {run.id}; last above the threshold: {since}."
    if fallen:
        sentence += f" {fallen}."
    to_do = task(title, sentence, priority="high", about=run.id, owner=benchmark.owner_id, at=at)
    queue(db, f"{run.id}:below", to_do, key=f"below-threshold:{benchmark.id}:{since}", at=at)
