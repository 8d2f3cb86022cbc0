"""The agreement of people and the model judge on a benchmark's outputs, and where they do not."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise

from pydantic import Field

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import JudgeLicence
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.licences.licence import keep, licences
from minions_evals_mcp.engine.people.user_check_agreement import UserCheckAgreement, user_check_agreement
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.stats.agreement import agreement
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judge_labels import judged_criteria
from minions_evals_mcp.store.queries.judging.labels import Rating, ratings
from minions_evals_mcp.store.queries.report_units import titles

SAME = 1e-9
MOST_LEVELS = 5
"""So many scores are told apart in a table; of more, ranges are."""


class NothingAgreedError(BadInputError):
    """No output of the benchmark was judged by both; `judged_by_model` is false where no model judged any.

    `user_check` is what people said of the users of its conversations, if anything.
    """

    def __init__(
        self, benchmark: Record[Benchmark], *, judged_by_model: bool, user_check: UserCheckAgreement | None = None
    ) -> None:
        judged = Next(
            "run-benchmark", {"benchmark_id": benchmark.id, "judge": "llm"}, "judges the outputs with a model"
        )
        super().__init__(
            f"no output of {benchmark.id} has been judged by both a person and a model.",
            remedy=("" if judged_by_model else f"First: {judged}. Then: ")
            + f"{Next('label', {'run_id': benchmark.id}, 'draws outputs that a model judged, for people to judge')}."
            f" {Next('rejudge', {'run_id': 'RUN', 'judge': 'human'}, 'asks people about all outputs of a run')}."
            f" {Next('judge', reason='collects their judgments')}.",
        )
        self.benchmark = benchmark
        self.judged_by_model = judged_by_model
        self.user_check = user_check


class RaterAnswer(Value):
    """The words of one of the two on an output."""

    judged_by: str
    score: float
    rationale: str
    test_run_id: str


class Disagreement(Value):
    """A criterion of an output on which a person and the model differ; `distance` is the share of the range."""

    test_case_id: str
    title: str
    trial: int
    criterion_id: str
    criterion: str
    max_score: float
    distance: float
    person: RaterAnswer
    model: RaterAnswer


class Agreed(Value):
    """Of so many judgments of both: the share of equal scores, and kappa with quadratic weights, with 95 % intervals.

    The judgments of one output by several criteria count as alike as they are.
    """

    judgments: int
    agreed: float
    agreed_interval: tuple[float, float]
    kappa: float | None
    kappa_interval: tuple[float, float]


class Confusion(Value):
    """The counts of people's scores against the model's: a row for each score of people, a column for the model's.

    `levels` are the scores that were given, or the ranges that they fall into where those are many.
    """

    levels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class CriterionAgreement(Value):
    """The agreement on one criterion."""

    criterion_id: str
    title: str
    found: Agreed
    confusion: Confusion


class RaterAgreement(Value):
    """One person against the other people who rated the same outputs; `found` is None where nobody else did."""

    rater: str
    labels: int
    found: Agreed | None


class JudgesAgreement(Value):
    """People against the model judge. `overall` pools all criteria, each score as a share of its range.

    `licences` say of each judge on each criterion whether it can be trusted; `raters` how far each person agrees with the others.
    """

    benchmark_id: str
    title: str
    outputs: int
    overall: Agreed
    criteria: tuple[CriterionAgreement, ...]
    disagreements: tuple[Disagreement, ...]
    more_disagreements: int
    licences: tuple[JudgeLicence, ...] = ()
    raters: tuple[RaterAgreement, ...] = ()
    user_check: UserCheckAgreement | None = Field(default=None, exclude_if=lambda held: held is None)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The newest judgment of a person and of the model on the same output by the same criterion."""

    person: Rating
    model: Rating

    @property
    def distance(self) -> float:
        """Returns how far they are apart, as a share of the range."""
        return abs(_fraction(self.person) - _fraction(self.model))


async def judges_agreement(engine: Engine, benchmark_id: str, *, limit: int = 20) -> JudgesAgreement:
    """The agreement over all runs of the benchmark; at most `limit` disagreements, the widest first.

    Raises `NotFoundError` without such a benchmark, `NothingAgreedError` where no output was judged by both.
    """
    at = engine.clock()
    try:
        agreed = await engine.store.read(partial(_agreement, benchmark_id=benchmark_id, limit=limit, at=at))
    except NothingAgreedError as nothing:
        await _keep_check(engine, nothing.user_check)
        raise
    await _keep_check(engine, agreed.user_check)
    if engine.config.read_only:
        judge_licences = await engine.store.read(partial(_licences, benchmark_id=benchmark_id, at=at))
    else:
        judge_licences = await engine.store.write(
            lambda db: [keep(db, licence).fields for licence in _licences(db, benchmark_id=benchmark_id, at=at)]
        )
    return agreed.model_copy(update={"licences": tuple(judge_licences)})


async def _keep_check(engine: Engine, check: UserCheckAgreement | None) -> None:
    if check is not None and not engine.config.read_only:
        await engine.store.write(partial(keep, licence=check.licence))


def _licences(db: Db, *, benchmark_id: str, at: datetime) -> list[JudgeLicence]:
    licences_of_all = [licences(db, criterion_id, at=at) for criterion_id in judged_criteria(db, benchmark_id)]
    return [licence for by_judge in licences_of_all for licence in by_judge.values()]


def _agreement(db: Db, *, benchmark_id: str, limit: int, at: datetime) -> JudgesAgreement:
    benchmark = records.require(db, benchmark_id, Benchmark)
    rated = list(ratings(db, benchmark_id))
    pairs = _pairs(rated)
    user_check = user_check_agreement(db, benchmark_id, at=at)
    if not pairs:
        by_model = any(not one.by_person for one in rated)
        raise NothingAgreedError(benchmark, judged_by_model=by_model, user_check=user_check)
    apart = sorted((pair for pair in pairs if pair.distance > SAME), key=lambda pair: -pair.distance)
    shown = apart[:limit]
    by_criterion: dict[str, list[_Pair]] = {}
    for pair in pairs:
        by_criterion.setdefault(pair.person.criterion_id, []).append(pair)
    named = titles(db, [*by_criterion, *{pair.person.test_case_id for pair in shown}])
    return JudgesAgreement(
        benchmark_id=benchmark_id,
        title=benchmark.title,
        outputs=len({pair.person.about for pair in pairs}),
        overall=_agreed(pairs),
        criteria=tuple(
            CriterionAgreement(
                criterion_id=ident, title=named.get(ident, ident), found=_agreed(pairs), confusion=_confusion(pairs)
            )
            for ident, pairs in by_criterion.items()
        ),
        disagreements=tuple(_disagreement(pair, named) for pair in shown),
        more_disagreements=len(apart) - len(shown),
        raters=_raters(rated),
        user_check=user_check,
    )


def _raters(rated: Sequence[Rating]) -> tuple[RaterAgreement, ...]:
    """Each person against the newest label of another person on the same output and criterion."""
    by_person: dict[str, dict[tuple[tuple[str, int, str], str], Rating]] = {}
    for rating in rated:
        if rating.by_person:
            by_person.setdefault(rating.judged_by, {})[rating.about, rating.criterion_id] = rating
    agreements: list[RaterAgreement] = []
    for rater, labels in by_person.items():
        others = {
            about: rating for name, theirs in by_person.items() if name != rater for about, rating in theirs.items()
        }
        pairs = [_Pair(label, others[about]) for about, label in labels.items() if about in others]
        agreements.append(RaterAgreement(rater=rater, labels=len(labels), found=_agreed(pairs) if pairs else None))
    return tuple(agreements)


def _pairs(given: Iterable[Rating]) -> list[_Pair]:
    people: dict[tuple[tuple[str, int, str], str], Rating] = {}
    models: dict[tuple[tuple[str, int, str], str], Rating] = {}
    for rating in given:
        (people if rating.by_person else models)[rating.about, rating.criterion_id] = rating
    return [_Pair(person, models[about]) for about, person in people.items() if about in models]


def _agreed(pairs: Sequence[_Pair]) -> Agreed:
    people, models = (
        [round(_fraction(score), 9) for score in side]
        for side in zip(*((p.person, p.model) for p in pairs), strict=True)
    )
    agreed = agreement(people, models, outputs=[pair.person.about for pair in pairs], weighting="quadratic")
    return Agreed(
        judgments=agreed.ratings,
        agreed=agreed.agreed,
        agreed_interval=agreed.agreed_interval,
        kappa=agreed.kappa,
        kappa_interval=agreed.kappa_interval,
    )


def _confusion(pairs: Sequence[_Pair]) -> Confusion:
    given = sorted({side.score for pair in pairs for side in (pair.person, pair.model)})
    if len(given) <= MOST_LEVELS:
        levels = tuple(f"{score:g}" for score in given)
        places = {score: place for place, score in enumerate(given)}
    else:
        low, high = pairs[0].person.min_score, pairs[0].person.max_score
        bounds = [low + (high - low) * share / MOST_LEVELS for share in range(MOST_LEVELS + 1)]
        levels = tuple(f"{low:g}–{other:g}" for low, other in pairwise(bounds))
        places = {score: min(MOST_LEVELS - 1, bisect_right(bounds, score) - 1) for score in given}
    counts = Counter((places[pair.person.score], places[pair.model.score]) for pair in pairs)
    size = range(len(levels))
    return Confusion(levels=levels, counts=tuple(tuple(counts[row, column] for column in size) for row in size))


def _fraction(rating: Rating) -> float:
    return (rating.score - rating.min_score) / (rating.max_score - rating.min_score)


def _disagreement(pair: _Pair, named: dict[str, str]) -> Disagreement:
    about = pair.person
    return Disagreement(
        test_case_id=about.test_case_id,
        title=named.get(about.test_case_id, about.test_case_id),
        trial=about.trial,
        criterion_id=about.criterion_id,
        criterion=named.get(about.criterion_id, about.criterion_id),
        max_score=about.max_score,
        distance=pair.distance,
        person=_verdict(pair.person),
        model=_verdict(pair.model),
    )


def _verdict(rating: Rating) -> RaterAnswer:
    return RaterAnswer(
        judged_by=rating.judged_by, score=rating.score, rationale=rating.rationale, test_run_id=rating.test_run_id
    )
