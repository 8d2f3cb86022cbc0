"""The result of a run, short enough to read at once: the figures first, then the cases that matter."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import UNSCORED, BenchmarkRun, EvalFailure, EvalTrend, Outcome, TestRun
from minions_evals_mcp.domain.values import Value, iso, to_millis
from minions_evals_mcp.engine.answers.failure_causes import Cause, causes_of
from minions_evals_mcp.engine.answers.names import version_names
from minions_evals_mcp.engine.answers.readings.agent_and_user import VarianceSplit, read_variance_split
from minions_evals_mcp.engine.answers.readings.benchmark_levels import LevelStart, read_levels
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading, read_beside
from minions_evals_mcp.engine.answers.readings.repeated_trials import Reliability, read_reliability
from minions_evals_mcp.engine.answers.readings.user_errors import UserErrors, read_user_errors
from minions_evals_mcp.engine.asking_again import resume_step
from minions_evals_mcp.engine.audit_standing.standing import AuditStanding, audit_standing, digests_digest
from minions_evals_mcp.engine.conclude.output_origins import output_origins
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import kept_job, request_of, with_gone
from minions_evals_mcp.engine.judge.panel import implicit, kind_of
from minions_evals_mcp.engine.judge.yardstick import measures
from minions_evals_mcp.engine.licences.corrected import CorrectedFigure, corrected_pass_rate
from minions_evals_mcp.engine.licences.standing import JudgeStanding, judge_standing
from minions_evals_mcp.engine.request import JudgeKind
from minions_evals_mcp.engine.run.planning import digests_of, model_of
from minions_evals_mcp.judges.packets import Packet, packet
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.judges.user_packets import UserPacket
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import jobs, leases, records, runs, talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, JobKind, JobState
from minions_evals_mcp.store.queries.judging.judgment_origins import JudgmentOrigins, judgment_origins
from minions_evals_mcp.store.queries.report_units import titles
from minions_evals_mcp.store.queries.trend_points import pass_rates

if TYPE_CHECKING:
    from minions_evals_mcp.store.queries import shared_cases

NAMED_CAUSES = 20
"""So many causes stand in a summary that asks for no failures."""


class FailureLine(Value):
    """A failed run in one line."""

    test_run_id: str
    test_case_id: str
    title: str
    trial: int
    failure_type: FailureType
    severity: str
    score: float
    possible: float
    description: str
    lost_most: str
    root_cause: str
    model_says: str = ""


class UnscoredLine(Value):
    """A unit without a verdict, and why."""

    test_case_id: str
    title: str = ""
    trial: int
    outcome: Outcome
    reason: str


class PassRateBounds(Value):
    """The pass rate (0–100) if everything that was not scored had failed, and had passed."""

    worst: float
    best: float


class WorkerLine(Value):
    """The work of one worker of a cluster: units that it returned, units that it has now, and chunks that were lost with it."""

    worker: str
    returned: int
    out: int
    lost_chunks: int
    per_second: float


class RunSummary(Value):
    """The state of a run. `outcomes` counts units (case × trial); `open` are not done yet.

    `outputs` says where the outputs came from, if the run has a target.
    `change` is the verdict on the run beside the whole run before it, `levelChange` the newest change of the benchmark's level.
    `names` are what people call subject and version. `judge` says whether the model that judged can be trusted,
    `corrected` the pass rate as people would have found it. `default_judge` says which model judged, and why that one,
    where nobody named one; `lacks_model`: one would judge what waits, and none is set up. `for_people`: digests of the packets
    that a person alone may answer. `userPackets` ask for the next message of a user. `reusedJudgments` were given before the run
    began, `selfJudged` counts test-runs that whoever produced them judged, `repeatedJudgments` those that give one rationale for
    five different outputs or more, `addressedJudge` the cases with outputs that address the model that judged them. `userErrors`
    says how many conversations the player of the user spoiled.
    `minimumDetectable` is the smallest difference of the overall score that 80 % of comparisons find.
    """

    run_id: str
    key: str
    kind: JobKind
    subject_id: str
    state: JobState
    reason: str
    units: int
    outcomes: dict[str, int]
    open: int
    spent: dict[str, float]
    outputs: str = ""
    benchmark_run: Json | None = None
    bounds: PassRateBounds | None = None
    test_runs: list[Json] = []
    causes: list[Cause] = []
    failures: list[FailureLine] = []
    failure_types: dict[str, int] = {}
    unscored: list[UnscoredLine] = []
    regression: Json | None = None
    fall: Json | None = None
    change: PairReading | None = None
    level_change: LevelStart | None = None
    trend: Json | None = None
    comparison: Json | None = None
    packets: list[Packet] = []
    user_packets: list[UserPacket] = []
    more_packets: int = 0
    for_people: list[str] = []
    reused_judgments: int = 0
    self_judged: int = 0
    repeated_judgments: int = 0
    addressed_judge: list[str] = []
    lacks_model: bool = False
    started_at: str
    judge: JudgeStanding | None = None
    own_run: str | None = None
    """The newest run of the benchmark's own judge, where another judged this one."""
    default_judge: str = ""
    corrected: CorrectedFigure | None = None
    user_errors: UserErrors | None = None
    variance: VarianceSplit | None = None
    reliability: Reliability | None = None
    audit: AuditStanding | None = None
    minimum_detectable: float | None = None
    names: dict[str, str] = {}
    workers: list[WorkerLine] = []


async def summarize(engine: Engine, run_id: str, *, limit: int = 20, causes: bool = True) -> RunSummary:
    """The summary of the run under that id or key; at most `limit` failures, unscored units and packets.

    What its failures go back to takes longer to read than all else, and is left out without `causes`.
    """
    summary, job = await engine.store.read(lambda db: _summary_of(db, kept_job(db, run_id), limit, causes=causes))
    gone = with_gone(engine, job).reason
    reason = f"{gone}; {resume_step(job)}" if gone != job.reason else gone
    return summary.model_copy(update={"default_judge": engine.default_judge_said(model_of(job)), "reason": reason})


def _summary_of(db: Db, job: Job, limit: int, *, causes: bool) -> tuple[RunSummary, Job]:
    return _summary(db, job, limit, causes=causes), job


def _summary(db: Db, job: Job, limit: int, *, causes: bool) -> RunSummary:
    counts = _counts(db, job)
    run = runs.benchmark_run(db, job.id) if job.kind == "benchmark" else None
    failing = runs.failing_of(db, job.id, limit=limit) if limit else []
    failures = runs.failures_of(db, [run.id for run in failing])
    waiting = counts.get("awaiting-judgments", 0)
    waiting_rows = jobs.units_with(db, job.id, ("awaiting-judgments",), limit=limit) if waiting else []
    packets = _packets(db, job, [row for row in waiting_rows if talks.player_asked(row.reason) is None])
    user_packets = [*_user_packets(db, waiting_rows)]
    missing = jobs.units_with(db, job.id, (*UNSCORED, "skipped"), limit=limit)
    named = titles(db, [row.case_id for row in missing])
    judge = None if run is None else _judge(db, run)
    origins = JudgmentOrigins() if judge is None else judgment_origins(db, job.id, begun=to_millis(job.created_at))
    return RunSummary(
        run_id=job.id,
        key=job.key,
        kind=job.kind,
        subject_id=job.subject_id,
        state=job.state,
        reason=job.reason,
        units=job.total,
        outcomes={str(outcome): number for outcome, number in counts.items()},
        open=job.total - sum(counts.values()),
        spent=job.spent,
        outputs=output_origins(db, job.id, request_of(job)) if job.kind in {"benchmark", "test-case"} else "",
        benchmark_run=_benchmark_json(run),
        bounds=_bounds(run, counts.get("skipped", 0)),
        test_runs=[_run_json(db, run) for run in runs.job_runs(db, job.id, limit=limit)]
        if job.kind == "test-case"
        else [],
        causes=[*causes_of(db, job)[: limit or NAMED_CAUSES]] if causes else [],
        failures=[_failure_line(db, run, failures[run.id]) for run in failing],
        failure_types=runs.failure_types(db, job.id),
        unscored=[
            UnscoredLine(
                test_case_id=row.case_id,
                title=named.get(row.case_id, row.case_id),
                trial=row.key.trial,
                outcome=row.outcome or "skipped",
                reason=row.reason,
            )
            for row in missing
        ],
        regression=_regression(db, run),
        fall=_fall(run),
        change=None if run is None else read_beside(db, run.id),
        level_change=None if run is None else read_levels(db, run.fields.benchmark_id).last_change,
        trend=_trend(db, run),
        comparison=_comparison(db, job),
        packets=[waiting_packet for waiting_packet, _ in packets],
        user_packets=user_packets,
        more_packets=max(0, waiting - len(packets) - len(user_packets)),
        for_people=[waiting_packet.digest for waiting_packet, kinds in packets if "human" in kinds]
        + [asked.digest for asked in user_packets if asked.player == "person"],
        lacks_model=any("caller" in kinds for _, kinds in packets) and request_of(job).judge == "auto",
        started_at=iso(job.created_at),
        judge=judge,
        own_run=None if run is None or not run.fields.judged_by else runs.own_run(db, job.subject_id),
        reused_judgments=origins.reused,
        self_judged=origins.own,
        repeated_judgments=origins.repeated,
        addressed_judge=list(origins.addressed),
        corrected=None if run is None else corrected_pass_rate(db, run.id),
        user_errors=read_user_errors(db, job.id),
        variance=None if run is None else read_variance_split(db, job.id),
        reliability=None if run is None else read_reliability(db, run.id, run.fields.trials),
        audit=None if run is None else _audit(db, job),
        minimum_detectable=None if run is None else _detectable(db, job, run),
        names=version_names(db, (job.subject_id, None if run is None else run.fields.prompt_version_ref)),
        workers=[WorkerLine.model_validate(asdict(share)) for share in leases.shares(db, job.id)],
    )


def _detectable(db: Db, job: Job, run: Record[BenchmarkRun]) -> float | None:
    """The smallest change that the next run of as many units would show; None where that takes long to work out."""
    from minions_evals_mcp.engine.compare.sample_size import MOST_UNITS, detectable  # noqa: PLC0415  of a benchmark-run alone

    return None if job.total > MOST_UNITS else detectable(db, run.id, job.subject_id)


def _audit(db: Db, job: Job) -> AuditStanding | None:
    """Returns whether the checks that the run was judged by were audited; None where only some of the cases were run."""
    if request_of(job).case_ids is not None:
        return None
    measured = digests_of(job)
    return audit_standing(db, job.subject_id, digests_digest(measured.test_case, measured.rubric))


def _judge(db: Db, run: Record[BenchmarkRun]) -> JudgeStanding | None:
    """Returns what is known of the models or callers that judged; None where rules or people judged alone."""
    standing = judge_standing(db, [run.id], at=run.fields.ran_at)
    return None if standing.state == "none" else standing


def _counts(db: Db, job: Job) -> dict[Outcome, int]:
    """The number of units by outcome; of a comparison those of both sides, of a trial those of its comparisons."""
    if job.kind not in {"comparison", "trial"}:
        return jobs.unit_counts(db, job.id)
    parts = [f"{job.id}:A", f"{job.id}:B"] if job.kind == "comparison" else [f"{job.key}:open", f"{job.key}:sealed"]
    total: Counter[Outcome] = Counter()
    for part in (jobs.job_by_key(db, key) for key in parts):
        total.update({} if part is None else _counts(db, part))
    return dict(total)


def _benchmark_json(run: Record[BenchmarkRun] | None) -> Json | None:
    if run is None:
        return None
    fields = run.wire()["fields"]
    assert isinstance(fields, dict)
    return {"id": run.id, **{name: value for name, value in fields.items() if name != "testRunIds"}}


def _bounds(run: Record[BenchmarkRun] | None, skipped: int) -> PassRateBounds | None:
    if run is None:
        return None
    fields = run.fields
    unscored = fields.error_count + skipped
    units = fields.total_count + unscored
    return PassRateBounds(worst=100 * fields.passed_count / units, best=100 * (fields.passed_count + unscored) / units)


def _run_json(db: Db, run: Record[TestRun]) -> Json:
    fields = run.wire()["fields"]
    assert isinstance(fields, dict)
    judged = [
        {"id": judgment.id, **judgment.fields.model_dump(mode="json", include=_TOLD)}
        for judgment in runs.judgments_of(db, run.id)
    ]
    return {"id": run.id, **fields, "judgments": judged}  # pyright: ignore[reportReturnType]  JSON all through


_TOLD = {"criterion_id", "score", "min_score", "max_score", "rationale", "judged_by", "judged_by_type", "confidence"}


def _failure_line(db: Db, run: Record[TestRun], failure: Record[EvalFailure]) -> FailureLine:
    from minions_evals_mcp.engine.failures.receipts import model_sentence  # noqa: PLC0415  as above

    case = records.minion(db, run.fields.test_case_id)
    return FailureLine(
        test_run_id=run.id,
        test_case_id=run.fields.test_case_id,
        title=case.title if case else run.fields.test_case_id,
        trial=run.fields.trial,
        failure_type=failure.fields.failure_type,
        severity=failure.fields.severity,
        score=run.fields.total_score,
        possible=run.fields.max_possible_score,
        description=failure.fields.description,
        lost_most=_lost_most(db, failure.fields),
        root_cause=failure.fields.root_cause,
        model_says="" if failure.fields.model_cause is None else model_sentence(failure.fields.model_cause),
    )


def _lost_most(db: Db, failure: EvalFailure) -> str:
    """The name of the criterion that cost the most; none where the case's own checks decided."""
    criterion = records.minion(db, failure.affected_criterion_ids[0]) if failure.affected_criterion_ids else None
    return criterion.title if criterion else ""


def _regression(db: Db, run: Record[BenchmarkRun] | None) -> Json | None:
    """The run's fall: since the run before, or, where that had fallen itself, since the last one that held."""
    if run is None or not (run.fields.is_regression or run.fields.fallen_since):
        return None
    from minions_evals_mcp.engine.conclude.benchmark_run import NAMED_SKIPPED  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.conclude.falls import fall_of, still_fallen  # noqa: PLC0415  as above
    from minions_evals_mcp.store.queries import shared_cases  # noqa: PLC0415  as above

    fall = fall_of(db, run)
    wire: Json = {}
    if run.fields.is_regression:
        failure = records.require(db, f"{run.id}:regression", EvalFailure)
        wire = {
            "isNew": True,
            "summary": failure.fields.description, "evidence": run.fields.evidence, "failureType": failure.fields.failure_type,
            "evalFailureId": failure.id,
            "newlyFailing": [signal.removeprefix("newly failing: ") for signal in failure.fields.signals],
        }  # fmt: skip
    if fall is None:
        return wire
    if run.fields.fallen_since is not None:
        failing = shared_cases.newly_failing(db, fall.since, run.id, left_out=True)
        named = [*dict.fromkeys(failure.case_id for failure in failing)][:NAMED_SKIPPED]
        wire |= {
            "summary": still_fallen(fall), "evidence": fall.evidence, "fallenSince": fall.since,
            "newlyFailing": [*named],
        }  # fmt: skip
    wire |= {
        "isNew": run.fields.is_regression, "previousRunId": fall.since, "scoreFell": fall.score_fell,
        "byRule": run.fields.is_regression or _dropped_by_rule(fall.shared),
        "cases": fall.shared.cases, "worse": fall.shared.worse, "better": fall.shared.better,
    }  # fmt: skip
    if fall.noise_floor is not None:
        wire |= {"noiseFloor": fall.noise_floor, "withinNoiseFloor": fall.is_within_noise}
    return wire


def _dropped_by_rule(shared: shared_cases.Shared) -> bool:
    from minions_evals_mcp.stats.regression import pass_rate_dropped  # noqa: PLC0415  as above

    return pass_rate_dropped(shared.previous_passed, shared.previous_total, shared.passed, shared.total)


def _fall(run: Record[BenchmarkRun] | None) -> Json | None:
    """The supported fall of passes or scores, of any size, with its sentence."""
    if run is None or run.fields.fall is None:
        return None
    from minions_evals_mcp.engine.conclude.falls import fall_in_words  # noqa: PLC0415  as above

    return {**run.fields.fall.model_dump(mode="json"), "summary": f"{fall_in_words(run.fields.fall)}."}


def _trend(db: Db, run: Record[BenchmarkRun] | None) -> Json | None:
    if run is None or not run.fields.is_standing:
        return None
    from minions_evals_mcp.engine.conclude.detect_trend import trend_id  # noqa: PLC0415  of a benchmark-run alone
    from minions_evals_mcp.stats.regression import LOOKED_BACK, slow_fall  # noqa: PLC0415  as above
    from minions_evals_mcp.stats.series.trend import SMALLEST_WINDOW  # noqa: PLC0415  as above

    trend = records.get(db, trend_id(run.fields.benchmark_id), EvalTrend)
    if trend is None:
        return None
    fields = trend.fields
    fell = slow_fall(pass_rates(db, run.id, limit=LOOKED_BACK))
    points = len(json.loads(fields.data_points))
    return {
        **({"direction": fields.direction} if points >= SMALLEST_WINDOW else {}),
        "provisional": fields.provisional, "volatile": fields.volatile, "slope": fields.slope,
        "pValue": fields.p_value, "consecutiveDegrading": fields.consecutive_degrading, "evidence": fields.evidence,
        "points": points,
        **({} if run.fields.is_regression or not fell else {"slowFall": fell}),
    }  # fmt: skip


def _comparison(db: Db, job: Job) -> Json | None:
    """Returns what a comparison's job came to so far: its two runs, and the record once both are concluded."""
    if job.kind != "comparison":
        return None
    from minions_evals_mcp.store.queries import run_pairs  # noqa: PLC0415  as above

    sides = [jobs.job_by_key(db, f"{job.id}:{which}") for which in ("A", "B")]
    comparison = run_pairs.comparison(db, job.id)
    record = None if comparison is None else comparison.wire()["fields"]
    return {"runIds": [side.id for side in sides if side is not None], "record": record}


def _user_packets(db: Db, rows: Sequence[jobs.UnitRow]) -> Iterator[UserPacket]:
    """The requests for what a user says next, of the conversations that wait for it."""
    from minions_evals_mcp.engine.people.user_turns import packet_of_user  # noqa: PLC0415  only where a user's turn waits

    for row in rows:
        if talks.player_asked(row.reason):
            (measure,) = measures(db, (row.case_id,), {})
            asked = packet_of_user(db, row, measure.case.fields)
            if asked is not None:
                yield asked


def _packets(db: Db, job: Job, rows: Sequence[jobs.UnitRow]) -> list[tuple[Packet, set[JudgeKind]]]:
    """The packets that wait, made again from what is kept (their digests are those that were handed out), and who is asked."""
    if not rows:
        return []
    from minions_evals_mcp.engine.judge.rounds import round_of, rounds  # noqa: PLC0415  only where something waits

    rubrics: dict[str, RubricInUse] = {}
    out: list[tuple[Packet, set[JudgeKind]]] = []
    for row in rows:
        assert row.observed is not None
        (measure,) = measures(db, (row.case_id,), rubrics)
        case = measure.case.fields
        work = Work(case.inputs, case.expected_outputs, row.observed)
        kinds: set[JudgeKind] = set()
        if isinstance(measure.yardstick, RubricInUse):
            choice, has_model = request_of(job).judge, isinstance(job.spec["judgeModel"], str)
            asked = round_of(rounds(measure.yardstick, choice, has_model=has_model), row, work, measure.yardstick)
            criteria = asked.criteria
            kinds = {kind_of(choice, criterion.fields, has_model=has_model) for criterion in criteria}
        else:
            criteria = (implicit(measure),)
        out.append((packet(row.key, row.case_id, criteria, work), kinds))
    return out
