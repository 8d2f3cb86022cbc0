"""The content of a report, whatever its form: a run (beside another), a benchmark's newest run, or a comparison, and its history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp.domain.conversations import as_read
from minions_evals_mcp.domain.definitions import Benchmark, Json
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.results import ModelCause, PromptComparison
from minions_evals_mcp.engine.answers.audited_checks import audited_checks
from minions_evals_mcp.engine.answers.names import version_names
from minions_evals_mcp.engine.answers.report_order import Pair, ordered_pairs, ordered_units, paged
from minions_evals_mcp.engine.answers.report_values import (
    NAMED,
    CriterionMean,
    Report,
    ReportCause,
    ReportedCase,
    ReportedTrial,
    ReportTrendPoint,
    Side,
)
from minions_evals_mcp.engine.answers.run_before import RunBefore, read_before
from minions_evals_mcp.engine.answers.run_diff import CaseChange, RunDiff, run_diff
from minions_evals_mcp.engine.answers.run_summary import RunSummary, summarize
from minions_evals_mcp.engine.conclude.decided_figures import decided_figures
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.failures.receipts import model_sentence
from minions_evals_mcp.engine.jobs import LATEST, find_job
from minions_evals_mcp.engine.meant_ids import meant_id
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import report_units, run_pairs
from minions_evals_mcp.store.queries.report_units import Place, UnitDetail, UnitLine

HISTORY = 60


@dataclass(frozen=True, slots=True)
class ReportSubject:
    """The runs that a report is about: `before` where two stand side by side."""

    run_id: str
    before: str | None = None
    comparison: PromptComparison | None = None


async def find_subject(engine: Engine, ident: str, *, compare: str | None = None) -> ReportSubject:
    """Returns what stands under the id of a run (or its key), a benchmark or a comparison; `compare` names the run to put beside it.

    Raises `NotFoundError` for an id under which there is none of these, `BadInputError` for a benchmark that never ran.
    """
    subject = await engine.store.read(partial(_subject, ident=await _meant(engine, ident)))
    if compare is None:
        return subject
    if subject.before is not None:
        raise BadInputError(f"{ident} has two runs already.", remedy=f"Leave {argument('compare')} out.")
    other = await engine.store.read(partial(_subject, ident=await _meant(engine, compare)))
    return ReportSubject(subject.run_id, other.run_id)


async def _meant(engine: Engine, ident: str) -> str:
    """The benchmark or comparison that is named; `latest` is the newest run."""
    return ident if ident == LATEST else await meant_id(engine, ident, "benchmark", "prompt-comparison")


def _subject(db: Db, *, ident: str) -> ReportSubject:
    job = find_job(db, ident)
    compared = run_pairs.comparison(db, ident if job is None else job.id)
    if compared is not None:
        return ReportSubject(
            compared.fields.benchmark_run_id_b, compared.fields.benchmark_run_id_a, decided_figures(db, compared)
        )
    if job is not None:
        return _run(job)
    benchmark = records.get(db, ident, Benchmark)
    if benchmark is None:
        raise NotFoundError(
            "run, benchmark or comparison",
            ident,
            remedy=f"{Next('runs', reason='lists runs')}. {Next('list', {'type': 'benchmark'}, 'lists benchmarks')}.",
        )
    newest = report_units.newest_run(db, ident)
    if newest is None:
        raise BadInputError(
            f"the benchmark {ident} has no run yet.",
            remedy=f"{Next('run-benchmark', {'benchmark_id': ident}, 'makes one')}.",
        )
    return ReportSubject(newest)


def _run(job: Job) -> ReportSubject:
    if job.kind == "comparison":
        raise BadInputError(f"the comparison {job.key} has no result yet: {job.state}.", remedy="Complete it first.")
    if job.kind in {"ab-test", "trial"}:
        what = "an A/B test" if job.kind == "ab-test" else "a trial"
        raise BadInputError(
            f"{job.key} is {what}, which has no cases to report.",
            remedy=f"{Next('show-run', {'run_id': job.key}, 'shows it')}.",
        )
    return ReportSubject(job.id)


async def read_report(engine: Engine, subject: ReportSubject) -> Report:
    """The subject in figures. Raises `BadInputError` where two runs have no case in common."""
    run = await read_side(engine, subject.run_id)
    before = None if subject.before is None else await read_side(engine, subject.before)
    return await engine.store.read(partial(_report, subject=subject, run=run, before=before))


async def read_side(engine: Engine, run_id: str, *, causes: bool = True) -> Side:
    """The run in figures, and what its failures go back to."""
    summary = await summarize(engine, run_id, limit=0, causes=causes)
    return await engine.store.read(partial(_side, summary=summary))


def _side(db: Db, *, summary: RunSummary) -> Side:
    about, run = records.minion(db, summary.subject_id), runs.benchmark_run(db, summary.run_id)
    counted = (run.fields.passed_count, run.fields.total_count) if run else report_units.tally(db, summary.run_id)
    fields = None if about is None else about.fields
    return Side(
        summary=summary,
        title=summary.subject_id if about is None else about.title,
        passed=counted[0],
        judged=counted[1],
        threshold=fields.passing_threshold if isinstance(fields, Benchmark) else None,
    )


def _report(db: Db, *, subject: ReportSubject, run: Side, before: Side | None) -> Report:
    diff = None
    if subject.before is not None:
        _benchmark_runs(run, before)
        diff = _with_names(db, run_diff(db, subject.before, subject.run_id))
    points = history(db, run.summary)
    return Report(
        run=run,
        before=before,
        comparison=subject.comparison,
        diff=diff,
        criteria=criteria(db, subject.run_id, before=subject.before),
        history=points,
        since=None if subject.before is not None else _since(db, run.summary),
        checks=audited_checks(db, run.summary),
        names=version_names(db, {*(point.version for point in points), *_versions(run, before, subject.comparison)}),
    )


def _since(db: Db, summary: RunSummary) -> RunBefore | None:
    """The run before the run, where it is concluded and there was one."""
    if summary.benchmark_run is None:
        return None
    return read_before(db, summary.run_id)


def _versions(run: Side, before: Side | None, comparison: PromptComparison | None) -> Iterator[str]:
    """The versions that a report speaks of."""
    for side in (run, before):
        fields = None if side is None else side.summary.benchmark_run
        version = None if fields is None else fields.get("promptVersionRef")
        if isinstance(version, str):
            yield version
    if comparison is not None:
        yield from (comparison.prompt_version_a, comparison.prompt_version_b)


def _with_names(db: Db, diff: RunDiff) -> RunDiff:
    """The same with the titles of the first cases that fail newly, which a report names at its top."""
    ids = [change.test_case_id for change in diff.changes if change.kind == "newly-failing"][:NAMED]
    titles = report_units.titles(db, ids)
    named = tuple(
        replace(change, title=titles[change.test_case_id]) if change.test_case_id in titles else change
        for change in diff.changes
    )
    return diff.model_copy(update={"changes": named})


def _benchmark_runs(*sides: Side | None) -> None:
    for side in sides:
        if side is not None and side.summary.benchmark_run is None:
            raise BadInputError(
                f"{side.summary.run_id} is not a completed benchmark-run.", remedy="Name two completed benchmark-runs."
            )  # fmt: skip


def criteria(db: Db, run_id: str, *, before: str | None = None) -> tuple[CriterionMean, ...]:
    """The means of the run, beside those of the run before where one is named."""
    then = {} if before is None else {mean.dimension: mean.score for mean in runs.means(db, before)}
    return tuple(
        CriterionMean(
            id=mean.dimension,
            title=mean.title,
            score=mean.score,
            max_score=mean.max_score,
            runs=mean.runs,
            before=then.get(mean.dimension),
        )
        for mean in runs.means(db, run_id)
    )


def history(db: Db, summary: RunSummary) -> tuple[ReportTrendPoint, ...]:
    """The newest runs of the benchmark that the run is of, oldest first; of a test case there are none."""
    return tuple(_history(db, summary)) if summary.kind == "benchmark" else ()


def _history(db: Db, summary: RunSummary) -> Iterator[ReportTrendPoint]:
    series = None
    for point in report_units.history(db, summary.subject_id, limit=HISTORY):
        yield ReportTrendPoint(
            run_id=point.run_id,
            at=point.at,
            score=point.score,
            interval=None if point.interval is None else (point.interval[0], point.interval[1]),
            passed=point.passed,
            total=point.total,
            version=point.version,
            new_series=series is not None and point.series != series,
            is_regression=point.is_regression,
            judged_by=point.judged_by,
            evidence=point.evidence,
        )
        series = point.series


async def report_cases(engine: Engine, report: Report) -> AsyncGenerator[ReportedCase]:
    """The cases: the failed ones first, the lowest scores first; side by side, the largest loss first."""
    run_id = report.run.summary.run_id
    if report.before is None or report.diff is None:
        for page in paged(
            await ordered_units(engine, run_id, since=None if report.since is None else report.since.run_id)
        ):
            for unit in await engine.store.read(partial(_details, run_id=run_id, page=page)):
                yield _case(unit, _tried(unit, run_id))
        return
    beside = report.before.summary.run_id
    for both in paged(await ordered_pairs(engine, report.diff, run_id, beside)):
        for case in await engine.store.read(partial(_side_by_side, page=both, run_id=run_id, before=beside)):
            yield case


async def cases_at(engine: Engine, run_id: str, places: Sequence[Place]) -> list[ReportedCase]:
    """Those units of the run, as far as they are there."""
    details = await engine.store.read(lambda db: report_units.unit_details(db, run_id, places))
    return [_case(unit, _tried(unit, run_id)) for unit in details]


def _details(db: Db, *, run_id: str, page: Sequence[UnitLine]) -> list[UnitDetail]:
    return report_units.unit_details(db, run_id, [line.place for line in page])


def _side_by_side(db: Db, *, page: Sequence[Pair], run_id: str, before: str) -> list[ReportedCase]:
    now = _by_place(db, run_id, [pair.run.place for pair in page if pair.run is not None])
    then = _by_place(db, before, [pair.before.place for pair in page if pair.before is not None])
    cases: list[ReportedCase] = []
    for pair in page:
        unit = None if pair.run is None else now[pair.run.place]
        other = None if pair.before is None else then[pair.before.place]
        newest = unit or other
        assert newest is not None
        tried = None if unit is None else _tried(unit, run_id)
        cases.append(_case(newest, tried, before=None if other is None else _tried(other, before), change=pair.change))
    return cases


def _by_place(db: Db, run_id: str, places: Sequence[Place]) -> dict[Place, UnitDetail]:
    return {detail.place: detail for detail in report_units.unit_details(db, run_id, places)}


def _case(
    unit: UnitDetail,
    tried: ReportedTrial | None,
    *,
    before: ReportedTrial | None = None,
    change: CaseChange | None = None,
) -> ReportedCase:
    return ReportedCase(
        test_case_id=unit.case_id,
        title=unit.title,
        trial=unit.place[1],
        inputs=unit.inputs,
        expected=unit.expected,
        edited=unit.edited,
        tried=tried,
        before=before,
        change=change,
    )


def _tried(unit: UnitDetail, run_id: str) -> ReportedTrial:
    """The trial; its output is the test-run's, else what waits to be judged."""
    output = unit.run.get("actualOutput", unit.observed.get("output"))
    calls = unit.tool_calls or unit.observed.get("toolCalls")
    return ReportedTrial(
        run_id=run_id,
        test_run_id=unit.test_run_id,
        outcome=unit.outcome,
        reason=unit.reason,
        passed=unit.passed,
        score=None if unit.score is None or unit.possible is None else unit.score / unit.possible,
        points=unit.score,
        possible=unit.possible,
        output=output,  # pyright: ignore[reportArgumentType]  a mapping, as the test-run's type says
        text=_text(output) if isinstance(output, dict) else "",
        tool_calls=calls if isinstance(calls, list) else [],
        judgments=tuple(unit.judgments),
        metrics=unit.metrics,
        cause=_cause(unit.failure),
        latency_ms=unit.run.get("latencyMs"),  # pyright: ignore[reportArgumentType]  a number, as the test-run's type says
        cost_usd=unit.run.get("costUsd"),  # pyright: ignore[reportArgumentType]  as above
        checks=tuple(one for one in kept if isinstance(one, dict))
        if isinstance(kept := unit.run.get("checks"), list)
        else (),
        cautions=tuple(str(one) for one in said) if isinstance(said := unit.run.get("warnings"), list) else (),
        regression_types=unit.run.get("regressionTypes", []),  # pyright: ignore[reportArgumentType]  as above
        flipped=unit.run.get("flipped") is True,
    )


def _text(output: Json) -> str:
    """The output's text, a conversation's turn by turn."""
    read = as_read(output)
    return read if isinstance(read, str) else output_text(output)


def _cause(failure: Json) -> ReportCause | None:
    if not failure:
        return None
    return ReportCause(
        failure_type=str(failure["failureType"]),
        severity=str(failure["severity"]),
        description=str(failure.get("description", "")),
        root_cause=str(failure.get("rootCause", "")),
        model_says=_model_says(failure.get("modelCause")),
        confidence=confidence if isinstance(confidence := failure.get("confidence"), int | float) else None,
        signals=tuple(map(str, signals)) if isinstance(signals := failure.get("signals"), list) else (),
    )


def _model_says(reply: JsonValue) -> str:
    return "" if reply is None else model_sentence(ModelCause.model_validate_json(to_json(reply)))
