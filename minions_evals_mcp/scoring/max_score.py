"""`max-score`: of several outputs of one test, the one whose other assertions scored highest together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, ValidationError

from minions_evals_mcp.domain.assertions import NEGATION, SET, Assertion
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Unchecked

MAX_SCORE = "max-score"
SELECT_BEST = "select-best"
SELECTING = frozenset({MAX_SCORE, SELECT_BEST})
"""Types that choose between outputs: their verdicts are no part of an aggregate."""

NOTHING_TO_AGGREGATE = (
    f"{MAX_SCORE} requires at least one assertion to aggregate besides {SELECT_BEST}: add one to the test"
)
SLACK = 1e-9
"""Scores this close are a tie, and reach a threshold: 0.1 + 0.2 is 0.3."""

Weight = Annotated[float, Field(ge=0, le=1e9)]


class MaxScore(Value):
    """The `value` of a `max-score` assertion.

    `weights` maps an assertion type, `not-` included, to the weight of all assertions of that type; others weigh 1.
    `threshold` is the lowest aggregate, inclusive, at which an output is selected.
    """

    method: Literal["average", "sum"] = "average"
    weights: dict[str, Weight] = {}
    threshold: float | None = None


class Component(NamedTuple):
    """One assertion's score under its type; a score that is missing counts 0."""

    type: str
    score: float | None


class OutputScores(NamedTuple):
    """One output as its own assertions left it: what each scored, whether they passed together, with which score."""

    components: tuple[Component, ...]
    passed: bool
    score: float

    @classmethod
    def of(cls, aggregate: Aggregate) -> Self:
        """The same for an output whose assertions were all checked."""
        return cls(tuple(_components(aggregate.results)), aggregate.passed, aggregate.score)


def _components(results: Sequence[Checked]) -> Iterator[Component]:
    """Each assertion's score under its type; of a set those of its members, of a negated one its own.

    What code says that it looked at counts beside its own score, as in promptfoo.
    """
    for result in results:
        if result.type != SET:
            yield Component(result.type, result.score)
        if result.type != f"{NEGATION}{SET}":
            yield from _components(result.parts)


class NamedScores(Value):
    """The figures behind a verdict: the aggregate, of how many assertions, and what they weigh together."""

    max_score: float
    assertion_count: int
    total_weight: float


class SelectionRank(NamedTuple):
    """One output after the selection.

    `verdict` is the max-score assertion's own (score 1 or 0). The test passes where it passed before and is
    selected, so the least bad of failing outputs stays failed; the score of one that is not selected becomes 0.
    """

    verdict: Checked
    named_scores: NamedScores
    passed: bool
    score: float


class SelectedOutput(NamedTuple):
    """The index of the selected output, None where none reaches the threshold, and how each output stands."""

    selected: int | None
    standings: tuple[SelectionRank, ...]


def max_score_of(assertion: Assertion) -> MaxScore:
    """Returns what a `max-score` assertion asks for; raises `InvalidRecordError` naming the key that does not fit."""
    if assertion.threshold is not None:
        raise InvalidRecordError("belongs in the value: {threshold: …}", field="threshold")
    given = {} if assertion.value is None else assertion.value
    if not isinstance(given, dict):
        raise InvalidRecordError("must be {method?, weights?, threshold?}", field="value")
    try:
        return MaxScore.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidRecordError(first["msg"], field=".".join(("value", *map(str, first["loc"])))) from None


_BY_DEFAULT = MaxScore.trusted()


def parted(assertions: Sequence[Assertion]) -> tuple[tuple[Assertion, ...], MaxScore]:
    """The checks of each output, and how one of several is chosen: as their `max-score` says, else by its defaults.

    Raises `InvalidRecordError` for a `max-score` that does not fit, a second one, or one with nothing to aggregate.
    """
    checks = tuple(assertion for assertion in assertions if assertion.type != MAX_SCORE)
    settings = [max_score_of(assertion) for assertion in assertions if assertion.type == MAX_SCORE]
    if len(settings) > 1:
        raise InvalidRecordError(f"only one {MAX_SCORE} check is allowed per test", field="type")
    if settings and not checks:
        raise InvalidRecordError(NOTHING_TO_AGGREGATE, field="type")
    return checks, settings[0] if settings else _BY_DEFAULT


def select(outputs: Sequence[OutputScores], config: MaxScore) -> SelectedOutput | Unchecked:
    """The output with the highest aggregate, of several the first; the least bad of failing ones too.

    Without two outputs, or with one that has no other assertion, there is nothing to choose by.
    """
    if len(outputs) < 2:
        return Unchecked(MAX_SCORE, "requires at least two outputs to choose from")
    named = [_named_scores(output.components, config) for output in outputs]
    if not all(scores.assertion_count for scores in named):
        return Unchecked(
            MAX_SCORE, f"requires at least one assertion to aggregate besides {' and '.join(sorted(SELECTING))}"
        )
    highest = max(scores.max_score for scores in named)
    winner = next(index for index, scores in enumerate(named) if scores.max_score >= highest - SLACK)
    reached = config.threshold is None or named[winner].max_score >= config.threshold - SLACK
    selected = winner if reached else None
    return SelectedOutput(
        selected,
        tuple(
            _standing(
                output, scores, index == selected, _reason(index, named, winner, None if reached else config.threshold)
            )
            for index, (output, scores) in enumerate(zip(outputs, named, strict=True))
        ),
    )


def _named_scores(components: Sequence[Component], config: MaxScore) -> NamedScores:
    counted = [
        (component.score or 0.0, config.weights.get(component.type, 1.0))
        for component in components
        if component.type not in SELECTING
    ]
    # fsum, so that the order in which assertions are written down never decides a tie
    total = math.fsum(score * weight for score, weight in counted)
    weight = math.fsum(weight for _, weight in counted)
    if config.method == "average":
        total = total / weight if weight > 0 else 0.0
    return NamedScores(max_score=total, assertion_count=len(counted), total_weight=weight)


def _standing(output: OutputScores, scores: NamedScores, selected: bool, reason: str) -> SelectionRank:  # noqa: FBT001  told of each output
    verdict = Checked(MAX_SCORE, selected, 1.0 if selected else 0.0, reason)
    return SelectionRank(verdict, scores, output.passed and selected, output.score if selected else 0.0)


def _reason(index: int, named: Sequence[NamedScores], winner: int, missed: float | None) -> str:
    """Returns why the output is selected or not, with its aggregate; `missed` is the threshold that nobody reaches."""
    score, highest = named[index].max_score, named[winner].max_score
    if missed is not None:
        return f"not selected: score {score:.6g} is below the threshold {missed:g}"
    if index == winner:
        return f"selected: score {score:.6g} is the highest of {len(named)}"
    if abs(score - highest) <= SLACK:
        return f"not selected: score {score:.6g} ties with output {winner}, which comes first"
    return f"not selected: score {score:.6g}, the highest is {highest:.6g}"
