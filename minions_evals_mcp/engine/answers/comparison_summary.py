"""The result of a comparison: which version to ship and how sure that is, then the criteria and the cases that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from minions_evals_mcp.domain.results import DecidedOn, PromptComparison
from minions_evals_mcp.domain.values import Value, iso
from minions_evals_mcp.engine.answers.names import in_sentence, version_names
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.compare.comparison_picks import MaxScorePicks, picks
from minions_evals_mcp.engine.conclude.attempts import Attempt
from minions_evals_mcp.engine.conclude.comparison import (
    RECOMMENDATION,
    CriterionDifference,
    Pairing,
    benchmark_run_in,
    criterion_differences,
    pairing,
)
from minions_evals_mcp.engine.conclude.decided_figures import deciding_attempt, measured_again, with_difference
from minions_evals_mcp.engine.conclude.decision import MARGIN
from minions_evals_mcp.engine.conclude.missing_outputs import with_missing
from minions_evals_mcp.engine.conclude.setup import changes_between
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.licences.standing import JudgeStanding, judge_standing
from minions_evals_mcp.engine.seals.exposures import verdict_within
from minions_evals_mcp.errors import BadInputError, NotFoundError, SealedError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.next_steps import argument, list_them
from minions_evals_mcp.stats.attempts import sure_words
from minions_evals_mcp.stats.comparison import CasePair, Difference, compare, groups_words, why_undecided
from minions_evals_mcp.stats.limits import non_inferiority
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import run_pairs

Interval = tuple[float, float]
_DUST = 1e-9
_SHOWN = 0.001
"""Of a difference in words: three decimals."""


@frozen_type
class Margin:
    """A margin of the overall score: absolute (0 to 1), or relative to the score of version A."""

    value: float
    is_relative: bool = False

    def of(self, score: float) -> float:
        """The margin as a difference of scores."""
        return self.value * score if self.is_relative else self.value

    @classmethod
    def parse(cls, text: str) -> Margin:
        """The margin that a text names: `0.02`, or `5%` of the score; raises `BadInputError`."""
        number, is_relative = (text.removesuffix("%").strip(), text.endswith("%"))
        try:
            value = float(number) / (100 if is_relative else 1)
        except ValueError:
            value = 0.0
        if not 0 < value <= 1:
            raise BadInputError(
                f"{argument('margin')}: {text!r} is not a margin.",
                remedy="Give a number such as 0.02, or a share of version A's score such as 5%.",
            )
        return cls(value, is_relative)


class PassSummary(Value):
    """Passes of both versions, of so many outputs of the shared cases; `delta` is a fraction, `gained` and `lost` are cases."""

    a: int
    b: int
    units_a: int
    units_b: int
    gained: int
    lost: int
    delta: float
    interval: Interval
    p_value: float
    method: str


class CriterionLine(Value):
    """One criterion: how far it moved (share of its range), and how sure that is among all criteria (Holm)."""

    criterion_id: str
    title: str
    delta: float
    interval: Interval
    p_value: float


class ChangedCase(Value):
    """A case whose mean score fraction changed from version A to version B."""

    test_case_id: str
    title: str
    score_a: float
    score_b: float
    flipped: Literal["gained", "lost", ""]


class NonInferior(Value):
    """The answer whether version B is worse by no more than `margin` (0 to 1): `gate` held, failed or undecided."""

    margin: float
    interval: Interval
    gate: Literal["held", "failed", "undecided"]
    cases_needed: int | None
    in_words: str


class ComparisonSummary(Value):
    """A prompt-comparison, read for a decision. Scores and their difference are 0 to 1, B minus A.

    `names` are what people call the two versions. It is the `attempt`-th to beat version A, decided at the error `level`,
    which is that of `interval`, too, on the data of these two runs and of the comparisons `pooled`, or of all `storedResults` of
    either version. `passes` and `criteria` are those of the two runs, at .05. `scoreA`, `scoreB` and `scoreDelta` are over all
    outputs of each run. `decidedDelta` is the difference on which verdict, interval and p-value rest, over the cases of both and
    what is pooled with them (`decidedOf`: passes, where people's labels decide); `sharedScoreA`, `sharedScoreB` are the scores
    over these cases, where they differ.
    """

    comparison_id: str
    benchmark_id: str
    version_a: str
    version_b: str
    run_a: str
    run_b: str
    score_a: float
    score_b: float
    score_delta: float
    decided_delta: float
    decided_of: Annotated[str, Field(exclude_if=lambda of: of == "score")] = "score"
    shared_score_a: Annotated[float | None, Field(exclude_if=lambda score: score is None)] = None
    shared_score_b: Annotated[float | None, Field(exclude_if=lambda score: score is None)] = None
    winner: str
    tie_threshold: float
    verdict: str
    recommendation: str
    in_words: str
    interval: Interval | None
    p_value: float | None
    method: str
    attempt: int
    level: float
    pooled: list[str]
    stored_results: int | None = None
    sample_size: int
    trials: int
    passes: PassSummary
    max_score: MaxScorePicks | None = None
    criteria: list[CriterionLine]
    worse: list[ChangedCase]
    better: list[ChangedCase]
    more_changed: int
    caution: str
    settle: str
    names: dict[str, str]
    current_version: str
    what_changed: list[str]
    notes: str
    compared_at: str
    judge: JudgeStanding | None = None
    non_inferior: NonInferior | None = None

    @property
    def compared_scores(self) -> tuple[float, float]:
        """Both scores over the cases that decide."""
        if self.shared_score_a is None or self.shared_score_b is None:
            return self.score_a, self.score_b
        return self.shared_score_a, self.shared_score_b


async def summarize_comparison(
    engine: Engine, ident: str, *, limit: int = 10, margin: Margin | None = None
) -> ComparisonSummary:
    """The summary of the comparison under that id; at most `limit` cases that got worse, and that got better.

    With a `margin` it answers whether version B is worse by no more than that.
    """
    summary, shared = await engine.store.read(lambda db: _summary(db, ident, limit, margin))
    return summary.model_copy(update={"max_score": await picks(engine, summary.run_a, summary.run_b, shared)})


def _summary(db: Db, ident: str, limit: int, margin: Margin | None) -> tuple[ComparisonSummary, Sequence[str]]:
    record = run_pairs.comparison(db, ident)
    if record is None and (verdict := verdict_within(db, ident)) is not None:
        raise SealedError(f"{ident} is a comparison on sealed cases: {verdict.in_words}")
    if record is None:
        raise NotFoundError("prompt-comparison", ident, remedy=list_them("prompt-comparison"))
    paired = pairing(db, record.fields.benchmark_run_id_a, record.fields.benchmark_run_id_b)
    case_pairs, attempt = paired.pairs(), deciding_attempt(db, record)
    difference = measured_again(db, record.fields, paired, attempt)
    fields = with_difference(record.fields, difference)
    names = version_names(db, (fields.prompt_version_a, fields.prompt_version_b))
    own = compare(case_pairs, margin=MARGIN)
    criteria = criterion_differences(db, fields.benchmark_run_id_a, fields.benchmark_run_id_b, paired)
    worse, better, more = _changed(db, case_pairs, limit)
    decided, (shared_a, shared_b) = fields.decided_on, _shared_scores(fields)
    summary = ComparisonSummary(
        comparison_id=record.id,
        benchmark_id=fields.benchmark_id,
        version_a=fields.prompt_version_a,
        version_b=fields.prompt_version_b,
        run_a=fields.benchmark_run_id_a,
        run_b=fields.benchmark_run_id_b,
        score_a=fields.score_a,
        score_b=fields.score_b,
        score_delta=fields.score_delta,
        decided_delta=decided.delta,
        decided_of=decided.of,
        shared_score_a=shared_a,
        shared_score_b=shared_b,
        winner=fields.winner,
        tie_threshold=fields.tie_threshold,
        verdict=fields.verdict,
        recommendation=RECOMMENDATION[fields.verdict],
        in_words=in_words(fields, difference, attempt, names) + _but(fields, paired.apart, names),
        interval=decided.interval,
        p_value=fields.p_value,
        method="sequential" if fields.is_sequential else difference.method,
        attempt=attempt.number,
        level=fields.level or attempt.level,
        pooled=[ident for ident, _, _ in attempt.pooled],
        stored_results=None if attempt.stored is None else attempt.stored.results,
        sample_size=fields.sample_size,
        trials=own.trials,
        passes=_passes(paired, own),
        criteria=[_line(criterion) for criterion in criteria],
        worse=worse,
        better=better,
        more_changed=more,
        caution="; ".join(part for part in (paired.apart, difference.caution) if part),
        settle="" if fields.is_sequential else difference.settle,
        names=names,
        current_version=current_version(db, fields.prompt_version_b),
        what_changed=list(_what_changed(db, fields)),
        notes=fields.notes,
        compared_at=iso(fields.compared_at),
        judge=_judge(db, fields),
        non_inferior=None if margin is None else _non_inferior(db, paired, fields, own, margin),
    )
    return summary, paired.shared


def _shared_scores(fields: PromptComparison) -> tuple[float, float] | tuple[None, None]:
    """Both scores over the cases that decide, each case by its weight; None where they are those of the runs."""
    a, b = fields.decided_scores
    is_same = max(abs(a - fields.score_a), abs(b - fields.score_b)) < _DUST
    return (None, None) if is_same else (a, b)


def _non_inferior(db: Db, paired: Pairing, fields: PromptComparison, own: Difference, margin: Margin) -> NonInferior:
    """The two runs by the margin, at .05 two-sided."""
    names, allowed = version_names(db, (fields.prompt_version_a, fields.prompt_version_b)), margin.of(own.scores[0])
    runs = (fields.benchmark_run_id_a, fields.benchmark_run_id_b)
    complete = with_missing(db, runs, (paired.a, paired.b), paired.pairs())
    holds = complete is None or compare(complete).interval[0] > -allowed
    found = non_inferiority(own.delta, own.interval, allowed, cases=own.cases, held_with_missing=holds)
    a, b = (in_sentence(names, version) for version in (fields.prompt_version_a, fields.prompt_version_b))
    low, high = own.interval
    sure = f"(95 % CI {low:+.3f} to {high:+.3f})"
    match found.gate:
        case "held":
            words = f"{b} is not worse than {a} by more than {allowed:.3g} {sure}."
        case "failed":
            words = f"{b} is worse than {a} by more than {allowed:.3g} {sure}."
        case "undecided":
            more = "" if found.cases_needed is None else f" About {found.cases_needed} cases in all would decide it."
            missing = "" if holds else " Missing outputs could make it worse."
            words = f"Undecided whether {b} is worse than {a} by more than {allowed:.3g} {sure}.{missing}{more}"
    return NonInferior(
        margin=allowed, interval=found.interval, gate=found.gate, cases_needed=found.cases_needed, in_words=words
    )


def _what_changed(db: Db, fields: PromptComparison) -> tuple[str, ...]:
    """Returns what differs between the two runs; of a comparison that was kept before this was, it is read from them."""
    if fields.what_changed:
        return fields.what_changed
    before, now = (benchmark_run_in(db, ident) for ident in (fields.benchmark_run_id_a, fields.benchmark_run_id_b))
    return changes_between(db, before, now)


def _judge(db: Db, fields: PromptComparison) -> JudgeStanding | None:
    """Returns what is known by now of those who judged; None where rules or people judged alone."""
    standing = judge_standing(db, [fields.benchmark_run_id_a, fields.benchmark_run_id_b], at=fields.compared_at)
    return None if standing.state == "none" else standing


def in_words(
    fields: PromptComparison, difference: Difference, attempt: Attempt, names: Mapping[str, str] | None = None
) -> str:
    """The answer in one or two sentences: what to do, and how sure that is; `names` of the two versions, else their ids."""
    a, b = (in_sentence(names or {}, version) for version in (fields.prompt_version_a, fields.prompt_version_b))
    decided, level = fields.decided_on, fields.level or attempt.level
    if decided.of != "score":
        return _by_labels(fields, decided, (a, b), level)
    moved, (low, high) = _moved(difference.delta, a), difference.interval
    if attempt.data and abs(difference.delta - fields.score_delta) >= _SHOWN / 2:
        moved += f" over {attempt.data}, in these two runs {fields.score_delta:+.3f}"
    elif abs(difference.delta - fields.score_delta) >= _SHOWN / 2:
        moved += f" on the outputs of both runs ({fields.score_delta:+.3f} over all of each)"
    pooled = f", {attempt.data} pooled" if attempt.data else ""
    tries = f"; attempt {attempt.number} to beat {a}, significance level {level:.3g}" if attempt.number > 1 else ""
    sure = (
        f"({sure_words(level)} CI {low:+.3f} to {high:+.3f}, p = {difference.p_value:.2g};"
        f" {_counted(difference)}{pooled}{tries})"
    )
    if fields.is_sequential:
        sure = f"({fields.notes})"
    match fields.verdict:
        case "improved":
            return f"Ship {b}: it scores {moved}, which is statistically significant {sure}."
        case "regressed":
            return f"Hold {b}: it scores {moved}, which is statistically significant {sure}."
        case "equivalent":
            return f"Either will do: {b} scores {moved}, a difference below {MARGIN:g} {sure}."
        case "inconclusive" if fields.missing_outputs:
            return f"Run more: {b} scores {moved}, but {fields.missing_outputs} {sure}."
        case "inconclusive":
            why = "" if fields.is_sequential else why_undecided(difference.interval, difference.p_value, level)
            return f"Run more: {b} scores {moved}, which is not significant{why} {sure}."


def _by_labels(fields: PromptComparison, decided: DecidedOn, names: tuple[str, str], level: float) -> str:
    """The answer where people's labels decide: by passes as people would have found them."""
    a, b = names
    low, high = decided.interval or (decided.delta, decided.delta)
    points = f"{abs(100 * decided.delta):.0f} points"
    moved = (
        f"as many outputs as {a}"
        if points == "0 points"
        else f"{points} {'more' if decided.delta > 0 else 'less'} than {a}"
    )
    sure = (
        f"({sure_words(level)} CI {100 * low:+.0f} to {100 * high:+.0f} points, p = {fields.p_value or 0.0:.2g};"
        f" {fields.sample_size} cases, corrected by {fields.corrected_labels} human labels)"
    )
    match fields.verdict:
        case "improved":
            return f"Ship {b}: it passes {moved}, which is statistically significant {sure}."
        case "regressed":
            return f"Hold {b}: it passes {moved}, which is statistically significant {sure}."
        case "equivalent":
            return f"Either will do: {b} passes {moved}, a difference below {100 * MARGIN:g} points {sure}."
        case "inconclusive":
            return f"Run more: {b} passes {moved}, which is not significant {sure}."


def _counted(difference: Difference) -> str:
    grouped = groups_words(difference.cases, difference.groups, difference.effective_cases)
    return grouped or f"{difference.cases} cases"


def _but(fields: PromptComparison, apart: str, names: Mapping[str, str]) -> str:
    """Returns why the winner by score is another than the verdict says; empty where the two agree."""
    better = {"improved": fields.prompt_version_b, "regressed": fields.prompt_version_a}.get(
        fields.verdict, fields.winner
    )
    if fields.winner == better:
        return ""
    if fields.winner == "tie":
        return f" But by score it is a tie: {fields.score_delta:+.3f} is within {fields.tie_threshold:g}."
    return f" But over all cases of each run {in_sentence(names, fields.winner)} scores higher: {apart}."


def labels_words(fields: PromptComparison) -> str:
    """Returns what people's labels make of it; empty without enough of them."""
    if fields.corrected_delta is None or fields.corrected_ci is None:
        return ""
    low, high = (100 * end for end in fields.corrected_ci)
    return (
        f"Corrected by {fields.corrected_labels} human labels, the pass rates differ by"
        f" {100 * fields.corrected_delta:+.0f} points ({low:+.0f} to {high:+.0f})."
    )


def _moved(delta: float, other: str) -> str:
    if abs(delta) < _SHOWN / 2:
        return f"as high as {other}"
    return f"{abs(delta):.3f} {'higher' if delta > 0 else 'lower'} than {other}"


def _passes(paired: Pairing, difference: Difference) -> PassSummary:
    change = difference.passes
    return PassSummary(
        a=sum(sum(paired.a[case_id].passed) for case_id in paired.shared),
        b=sum(sum(paired.b[case_id].passed) for case_id in paired.shared),
        units_a=sum(len(paired.a[case_id].passed) for case_id in paired.shared),
        units_b=sum(len(paired.b[case_id].passed) for case_id in paired.shared),
        gained=change.b,
        lost=change.c,
        delta=change.delta,
        interval=change.interval,
        p_value=change.p_value,
        method=change.method,
    )


def _line(difference: CriterionDifference) -> CriterionLine:
    return CriterionLine(
        criterion_id=difference.criterion_id,
        title=difference.title,
        delta=difference.difference.delta,
        interval=difference.difference.interval,
        p_value=difference.p_value,
    )


def _changed(db: Db, case_pairs: list[CasePair], limit: int) -> tuple[list[ChangedCase], list[ChangedCase], int]:
    """The cases that lost and gained most, and how many more changed."""
    moved = sorted((_mean(pair.b) - _mean(pair.a), pair.case_id, pair) for pair in case_pairs)
    worse = [pair for delta, _, pair in moved if delta < -1e-9]
    better = [pair for delta, _, pair in reversed(moved) if delta > 1e-9]
    shown = [*worse[:limit], *better[:limit]]
    titles = {ident: case.title for ident, case in records.minions(db, [pair.case_id for pair in shown]).items()}
    changed = [_case(pair, titles.get(pair.case_id, pair.case_id)) for pair in shown]
    cut = min(limit, len(worse))
    return changed[:cut], changed[cut:], len(worse) + len(better) - len(shown)


def _case(pair: CasePair, title: str) -> ChangedCase:
    before, now = _mean([float(passed) for passed in pair.passed_a]), _mean([float(passed) for passed in pair.passed_b])
    return ChangedCase(
        test_case_id=pair.case_id,
        title=title,
        score_a=_mean(pair.a),
        score_b=_mean(pair.b),
        flipped="gained" if now > before else "lost" if now < before else "",
    )


def _mean(values: tuple[float, ...] | list[float]) -> float:
    return sum(values) / len(values)
