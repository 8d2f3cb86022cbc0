"""From two benchmark-runs to their comparison: who scored higher (the documented rule), and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, PromptComparison
from minions_evals_mcp.domain.values import first_named, short_id
from minions_evals_mcp.engine.conclude.attempts import Attempt, attempt_of
from minions_evals_mcp.engine.conclude.decision import MARGIN, Decision, decided
from minions_evals_mcp.engine.conclude.judge_evidence import judge_evidence_at
from minions_evals_mcp.engine.conclude.looks import concluded
from minions_evals_mcp.engine.conclude.missing_outputs import with_missing
from minions_evals_mcp.engine.conclude.setup import changes_between
from minions_evals_mcp.engine.licences.corrected import corrected_pass_difference
from minions_evals_mcp.engine.outbox import message, queue, tell_asker
from minions_evals_mcp.engine.seals.exposures import RECOMMENDED, note_exposure
from minions_evals_mcp.engine.seals.guard import HIDDEN
from minions_evals_mcp.errors import BadInputError, ConflictError, EvalsError, NotFoundError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.stats.attempts import BUDGET
from minions_evals_mcp.stats.comparison import METHOD_WORDS, CasePair, Difference, compare, groups_words, holm
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.queries.judging import compared
from minions_evals_mcp.store.queries.run_pairs import MEASURED, BothScores, CaseScores, CriterionScores
from minions_evals_mcp.store.rows import insert
from minions_evals_mcp.store.seals import is_open_part, is_sealed

RECOMMENDATION = {"improved": "ship", "regressed": "hold", "equivalent": "either", "inconclusive": "run more"}
NAMED = 10


@frozen_type
class Pairing:
    """Two runs on the cases that both have; `a` and `b` hold all cases of either run.

    `edited` counts cases of both that are left out, for they were measured differently.
    """

    a: Mapping[str, CaseScores]
    b: Mapping[str, CaseScores]
    shared: tuple[str, ...]
    edited: int = 0

    @property
    def apart(self) -> str:
        """Returns how many cases only one of the runs has, in words; empty where there are none."""
        number = len(self.a) + len(self.b) - 2 * (len(self.shared) + self.edited)
        return f"{number} cases were measured in one run only" if number else ""

    def group(self, case_id: str) -> str:
        """The group of a shared case: the one that it had in either run; "" where it is its own."""
        return self.b[case_id].group or self.a[case_id].group or ""

    def pairs(self) -> list[CasePair]:
        """The shared cases as the statistics see them."""
        return [
            CasePair(
                case_id,
                tuple(self.a[case_id].fractions),
                tuple(self.b[case_id].fractions),
                tuple(self.a[case_id].passed),
                tuple(self.b[case_id].passed),
                self.a[case_id].possible,
                self.group(case_id),
            )
            for case_id in self.shared
        ]


@frozen_type
class Rule:
    """Below what difference two scores are a tie, and how many cases were planned where one looked after every case."""

    tie_threshold: float
    planned: int | None = None


@frozen_type
class CriterionDifference:
    """One criterion in both runs; `p_value` (Holm) and interval (Bonferroni) are adjusted for the number of criteria."""

    criterion_id: str
    title: str
    difference: Difference
    p_value: float


def pairing(db: Db, run_a: str, run_b: str, *, scores: BothScores | None = None, allows_edits: bool = False) -> Pairing:
    """The two runs, case by case.

    Raises `ConflictError` with the list of differences where the cases that both have were not comparable, and
    `BadInputError` where they have none in common. With `allows_edits` cases that are not comparable are left out, if others are.
    """
    a, b = scores or run_pairs.both_scores(db, run_a, run_b)
    shared = tuple(case_id for case_id in a if case_id in b)
    if not shared:
        raise BadInputError(
            f"{run_a} and {run_b} have no case in common.", remedy="Compare two runs of the same benchmark."
        )
    differing = {case_id: names for case_id in shared if (names := unlike(a[case_id], b[case_id]))}
    if differing and not (allows_edits and len(differing) < len(shared)):
        unlike_cases = [f"{case_id} ({', '.join(names)})" for case_id, names in differing.items()]
        raise ConflictError(
            f"{run_a} and {run_b} were not comparable: {first_named(unlike_cases, NAMED)}.",
            remedy=f"Run both versions again. Or: {Next('rejudge', {'run_id': run_b}, 'judges its stored outputs again')}.",
        )
    return Pairing(a, b, tuple(case_id for case_id in shared if case_id not in differing), len(differing))


def answered_apart(db: Db, run_a: str, run_b: str) -> str:
    """Why judgments of two runs do not compare: other models answered for the judges. Empty where none did, or none is known."""
    then, now = (runs.answering_models_in(db, run_id=run) for run in (run_a, run_b))
    if then is not None and now is not None and then != now:
        then, now = _answered(db, run_a, run_b)
    if then is None or now is None or then == now:
        return ""
    return f"the judge's model answered as {then} in {run_a} and as {now} in {run_b}"


def _answered(db: Db, run_a: str, run_b: str) -> tuple[str | None, str | None]:
    """The models that answered in each of two runs, on the cases of both."""
    return runs.answering_models(db, run_a, shared_with=run_b), runs.answering_models(db, run_b, shared_with=run_a)


def _judged_afresh(db: Db, run_a: Record[BenchmarkRun], run_b: Record[BenchmarkRun]) -> str:
    """What makes judgments of two models comparable: the older run is judged again, and one in which both models answered."""
    older, newer = sorted((run_a, run_b), key=lambda run: run.fields.ran_at)
    models = dict(zip((run_a.id, run_b.id), _answered(db, run_a.id, run_b.id), strict=True))
    again = [older.id, *([newer.id] if ", " in (models[newer.id] or "") else [])]
    return " ".join(
        f"{Next('rejudge', {'run_id': ident, 'fresh': True}, 'judges its stored outputs again')}." for ident in again
    )


def unlike(a: CaseScores, b: CaseScores) -> tuple[str, ...]:
    """Returns what a case was measured with differently in two runs; empty where it was measured alike."""
    if a.digests != b.digests:
        return tuple(name for name, mine, other in zip(MEASURED, a.digests, b.digests, strict=True) if mine != other)
    return ("maxScore",) if a.possible != b.possible else ()


def criterion_differences(db: Db, run_a: str, run_b: str, pairing: Pairing) -> list[CriterionDifference]:
    """Each criterion that both runs have on a shared case, compared on those; largest fall first."""
    a, b = run_pairs.criterion_scores(db, run_a), run_pairs.criterion_scores(db, run_b)
    paired = [(ident, _criterion_pairs(a[ident], b[ident], pairing)) for ident in a if ident in b]
    paired = [(ident, case_pairs) for ident, case_pairs in paired if case_pairs]
    level = 1 - BUDGET / max(1, len(paired))
    compared = [(ident, a[ident], compare(case_pairs, level=level)) for ident, case_pairs in paired]
    adjusted = holm([difference.p_value for _, _, difference in compared])
    differences = [
        CriterionDifference(ident, scores.title, difference, p_value)
        for (ident, scores, difference), p_value in zip(compared, adjusted, strict=True)
    ]
    return sorted(differences, key=lambda difference: (difference.difference.delta, difference.criterion_id))


def _criterion_pairs(a: CriterionScores, b: CriterionScores, pairing: Pairing) -> list[CasePair]:
    return [
        CasePair(case_id, first, other, _full(first), _full(other), group=pairing.group(case_id))
        for case_id in pairing.shared
        if case_id in a.fractions and case_id in b.fractions
        for first, other in ((tuple(a.fractions[case_id]), tuple(b.fractions[case_id])),)
    ]


def _full(fractions: tuple[float, ...]) -> tuple[bool, ...]:
    """A criterion is passed where it reaches all of its range."""
    return tuple(fraction >= 1 - 1e-9 for fraction in fractions)


def record_comparison(
    db: Db, ident: str, run_a: Record[BenchmarkRun], run_b: Record[BenchmarkRun], *, by: Rule, at: datetime
) -> Record[PromptComparison]:  # fmt: skip
    """Writes the comparison and tells the orchestrator "comparison-complete": one transaction, the caller's.

    The same outputs are the same comparison: where they were compared before, that one is returned and nothing is written.

    Raises as `pairing` does, and `BadInputError` where a run is of no prompt version or both are of the same.
    """
    if apart := answered_apart(db, run_a.id, run_b.id):
        raise ConflictError(
            f"{run_a.id} and {run_b.id} were not comparable: {apart}. Judgments are reused unless you pass {argument('fresh')}.",
            remedy=_judged_afresh(db, run_a, run_b),
        )
    paired = pairing(db, run_a.id, run_b.id)
    version_a, version_b = _versions(run_a, run_b)
    benchmark, pair = run_a.fields.benchmark_id, (run_a.id, run_b.id)
    outputs = compared.outputs_digest(
        db, *pair, but_for=[by.tie_threshold, is_sealed(db, benchmark), *labels_of(db, *pair)]
    )
    if by.planned is None and (same := compared.same_outputs(db, (version_a, version_b), outputs)) is not None:
        return same
    attempt = attempt_of(db, (version_a, version_b), runs=pair, job=ident, at=at, benchmark=benchmark)
    looks = None
    if by.planned is not None:
        attempt = replace(attempt, pooled=(), stored=None)
        looks = concluded(db, run_a.id, run_b.id, planned=by.planned, level=attempt.level)
    decision = decision_of(db, pair, paired, attempt)
    difference, level = decision.difference, decision.level if looks is None else attempt.level
    score_a, score_b = run_a.fields.overall_score, run_b.fields.overall_score
    delta = score_b - score_a
    winner = "tie" if abs(delta) < by.tie_threshold else version_b if delta > 0 else version_a
    fields = PromptComparison(
        benchmark_id=run_a.fields.benchmark_id,
        prompt_version_a=version_a,
        prompt_version_b=version_b,
        benchmark_run_id_a=run_a.id,
        benchmark_run_id_b=run_b.id,
        score_a=score_a,
        score_b=score_b,
        winner=winner,
        sample_size=len(paired.shared),
        compared_at=at,
        notes=_notes(paired, decision, attempt) if looks is None else f"{looks.in_words()}; {attempt.in_words()}",
        tie_threshold=by.tie_threshold,
        score_delta=delta,
        delta_ci=difference.interval if looks is None or looks.look.p_value is not None else None,
        p_value=difference.p_value if looks is None else looks.look.p_value,
        verdict=decision.verdict if looks is None else looks.verdict,
        attempt=attempt.number,
        level=level,
        pooled=tuple(ident for ident, _, _ in attempt.pooled),
        stored_results=None if attempt.stored is None else attempt.stored.results,
        open_part=is_open_part(db, benchmark),
        what_changed=changes_between(db, run_a, run_b),
        groups=difference.groups if difference.groups < difference.cases else None,
        effective_cases=difference.effective_cases if difference.groups < difference.cases else None,
        missing_outputs=decision.missing if looks is None else "",
        outputs_digest=outputs,
        decided_score_a=difference.scores[0],
        decided_score_b=difference.scores[1],
        decided_delta=difference.delta,
    )
    fields = judge_evidence_at(db, run_a.id, run_b.id, at=at, attempt=attempt).applied(fields, margin=MARGIN)
    title = f"{version_b} against {version_a}: {fields.verdict}"
    record = Record(ident, fields, title, at, at)
    only_verdict = note_exposure(db, ident, fields, at=at)
    insert(db, record)
    detail: Json = {"benchmarkId": fields.benchmark_id, "winner": winner, "verdict": fields.verdict}
    append(db, Event("prompt-comparison-recorded", "prompt-comparison", ident, detail), at=at)
    _tell(db, record, at, only_verdict=only_verdict)
    return record


def conclude_comparison(db: Db, comparison_id: str, *, tie_threshold: float, at: datetime) -> None:
    """Records the comparison of a job whose two sides are both concluded, and completes it; else does nothing.

    What cannot be compared fails the comparison's job, never the run that was just concluded.
    """
    job = jobs.job(db, comparison_id)
    sides = [jobs.job_by_key(db, f"{comparison_id}:{which}") for which in ("A", "B")]
    sides_run = [runs.benchmark_run(db, side.id) for side in sides if side is not None]
    if job is None or job.state == "completed" or len(sides_run) < 2 or None in sides_run:
        return
    run_a, run_b = (run for run in sides_run if run is not None)
    request = job.spec["request"]
    assert isinstance(request, dict)
    tie = request.get("tieThreshold")
    tie = tie if isinstance(tie, float) else tie_threshold
    planned = job.total // 2 if request.get("sequential") else None
    try:
        made = record_comparison(db, job.id, run_a, run_b, by=Rule(tie, planned), at=at)
    except EvalsError as error:
        why = HIDDEN if is_sealed(db, job.subject_id) else error.message_text
        jobs.set_state(db, job.id, "failed", reason=why, at=at)
    else:
        reason = "" if made.id == job.id else f"{compared.SAME_AS}{made.id}"
        jobs.set_state(db, job.id, "completed", reason=reason, at=at)
    tell_asker(db, job.id, at=at)


def _diff(run_a: Record[BenchmarkRun], run_b: Record[BenchmarkRun]) -> str:
    """What compares two runs of any kind."""
    runs = {"run_a": short_id(run_a.id), "run_b": short_id(run_b.id)}
    return f"{Next('diff', runs, 'compares the two runs case by case')}."


def _versions(run_a: Record[BenchmarkRun], run_b: Record[BenchmarkRun]) -> tuple[str, str]:
    """The versions that two runs of one benchmark are of."""
    a, b = run_a.fields, run_b.fields
    if a.benchmark_id != b.benchmark_id:
        raise BadInputError(
            f"{run_a.id} belongs to the benchmark {a.benchmark_id}, {run_b.id} to {b.benchmark_id}.",
            remedy="Compare two runs of the same benchmark.",
        )
    for run, version in ((run_a, a.prompt_version_ref), (run_b, b.prompt_version_ref)):
        if version is None:
            raise BadInputError(
                f"the run {run.id} has no prompt version.",
                remedy=f"{_diff(run_a, run_b)} To compare versions, run the benchmark with {argument('prompt_version_ref', 'VERSION')}.",
            )
    assert a.prompt_version_ref is not None
    assert b.prompt_version_ref is not None
    if a.prompt_version_ref == b.prompt_version_ref:
        raise BadInputError(
            f"{run_a.id} and {run_b.id} both use {a.prompt_version_ref}.",
            remedy=f"{_diff(run_a, run_b)} Or name runs of two versions.",
        )
    return a.prompt_version_ref, b.prompt_version_ref


def pooled_pairs(db: Db, paired: Pairing, attempt: Attempt) -> list[CasePair]:
    """The shared cases with what decides beside the two runs: trials of earlier attempts that were measured alike, or all that
    is stored; trials are averaged in the case."""
    if attempt.stored is not None:
        return attempt.stored.pairs(db, paired.pairs())
    pooled = {pair.case_id: pair for pair in paired.pairs()}
    for _, run_a, run_b in attempt.pooled:
        a, b = run_pairs.case_scores(db, run_a), run_pairs.case_scores(db, run_b)
        for case_id in pooled.keys() & a.keys() & b.keys():
            pair, before, after = pooled[case_id], a[case_id], b[case_id]
            pooled[case_id] = CasePair(
                case_id,
                (*pair.a, *before.fractions),
                (*pair.b, *after.fractions),
                (*pair.passed_a, *before.passed),
                (*pair.passed_b, *after.passed),
                pair.weight,
                pair.group,
            )
    return list(pooled.values())


def decision_of(db: Db, runs: tuple[str, str], paired: Pairing, attempt: Attempt) -> Decision:
    """The verdict on the two runs and what is pooled with them, missing outputs included."""
    pairs = pooled_pairs(db, paired, attempt)
    return decided(pairs, with_missing(db, runs, (paired.a, paired.b), pairs), attempt)


def labels_of(db: Db, run_a: str, run_b: str) -> list[JsonValue]:
    """What people's labels make of the two runs: new labels make a new comparison of the same outputs."""
    labels = corrected_pass_difference(db, run_a, run_b)
    return [] if labels is None else [labels.model_dump(mode="json")]


def _notes(paired: Pairing, decision: Decision, attempt: Attempt) -> str:
    """Returns what a reader must know beside the figures."""
    difference = decision.difference
    method = METHOD_WORDS[difference.method]
    grouped = groups_words(difference.cases, difference.groups, difference.effective_cases)
    notes = (
        method,
        attempt.in_words(decision.level),
        paired.apart,
        decision.missing,
        grouped,
        difference.caution,
        difference.settle,
    )
    return "; ".join(part for part in notes if part)


def _tell(db: Db, record: Record[PromptComparison], at: datetime, *, only_verdict: bool) -> None:
    payload = _verdict_told(record) if only_verdict else _all_told(record)
    announcement = message("comparison-complete", payload, at=at)
    queue(db, f"{record.id}:complete", announcement, key=f"comparison-complete:{record.id}", at=at)


def _verdict_told(record: Record[PromptComparison]) -> Json:
    """All that is said of a comparison on sealed cases."""
    fields = record.fields
    return {
        "comparisonId": record.id, "benchmarkId": fields.benchmark_id, "promptVersionA": fields.prompt_version_a,
        "promptVersionB": fields.prompt_version_b, "verdict": fields.verdict, "attempt": fields.attempt, "sealed": True,
        "recommendation": RECOMMENDED[fields.verdict],
    }  # fmt: skip


def _all_told(record: Record[PromptComparison]) -> Json:
    fields = record.fields
    return {
        "comparisonId": record.id, "benchmarkId": fields.benchmark_id, "promptVersionA": fields.prompt_version_a,
        "promptVersionB": fields.prompt_version_b, "scoreA": fields.score_a, "scoreB": fields.score_b,
        "winner": fields.winner, "verdict": fields.verdict,
        "decidedDelta": fields.decided_delta, "deltaCi": None if fields.delta_ci is None else list(fields.delta_ci),
        "pValue": fields.p_value, "sampleSize": fields.sample_size, "attempt": fields.attempt,
        "recommendation": RECOMMENDATION[fields.verdict], "notes": fields.notes, "whatChanged": list(fields.what_changed),
        "judgeState": fields.judge_state, "judgeNote": fields.judge_note,
    }  # fmt: skip


def benchmark_run_in(db: Db, ident: str) -> Record[BenchmarkRun]:
    """The benchmark-run under that id, for a comparison that needs it."""
    run = runs.benchmark_run(db, ident)
    if run is None:
        raise NotFoundError("benchmark-run", ident, remedy=f"{Next('runs', reason='lists them')}.")
    return run
