"""Named metrics of a test's checks, and metrics that are computed from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.checks import Aggregate, Checked
from minions_evals_mcp.scoring.formula import Formula, NoValueError, parse_formula

COUNT = "__count"
"""The name under which a formula finds how many tests were run."""


class DerivedMetric(NamedTuple):
    """A metric that is computed from others."""

    name: str
    formula: Formula


def named_scores(results: Sequence[Checked]) -> Iterator[MetricScore]:
    """The score of every check that names a metric, those inside sets too, which weigh what their set lets them weigh.

    So do metrics that code gives. What names the same metric as the check that it stands in is a part of it already.
    """
    for result in results:
        if result.metric:
            yield MetricScore(result.metric, result.score, result.weight)
        yield from (
            metric._replace(weight=metric.weight * result.weight)
            for metric in result.named
            if metric.name != result.metric
        )
        for inner in named_scores(result.parts):
            if inner.name != result.metric:
                yield inner._replace(weight=inner.weight * result.weight)


def named_in(aggregate: Aggregate) -> tuple[MetricScore, ...]:
    """The metrics of one output: those of its checks, or what the code gives that made its verdict."""
    return tuple(named_scores(aggregate.results)) if aggregate.named is None else aggregate.named


def metric_scores(named: Iterable[MetricScore]) -> dict[str, float]:
    """Each metric's weighted mean over one output."""
    return {name: _mean(scores) for name, scores in _by_name(named).items()}


def _by_name(named: Iterable[MetricScore]) -> dict[str, list[MetricScore]]:
    """The scores of each metric, as they count.

    A check of weight 0 has no say in a test's score, and is there for its metric: where all that bears a name weighs 0, each
    counts as one.
    """
    by_name: dict[str, list[MetricScore]] = {}
    for metric in named:
        by_name.setdefault(metric.name, []).append(metric)
    for name, scores in by_name.items():
        if not any(score.weight for score in scores):
            by_name[name] = [score._replace(weight=1.0) for score in scores]
    return by_name


def derived(name: str, formula: str, *, at: str = "") -> DerivedMetric:
    """A metric computed by `formula`; raises `InvalidRecordError` for a name or a formula that cannot be carried out."""
    if not name.strip() or name == COUNT:
        raise InvalidRecordError(f"{name!r} is not a valid name for a derived metric", field="name", where=at)
    try:
        return DerivedMetric(name, parse_formula(formula))
    except InvalidRecordError as error:
        raise error.at(at) from None


def metric_weights(named: Iterable[MetricScore]) -> dict[str, float]:
    """Returns what the scores that bear each name weigh together in one output."""
    return {name: math.fsum(score.weight for score in scores) for name, scores in _by_name(named).items()}


def derive(metrics: Sequence[DerivedMetric], sums: Mapping[str, float], count: int) -> dict[str, float | None]:
    """The derived metrics in order, each from the sums over `count` tests and from those before it.

    `sums` holds of each name the sum over all outputs of its `metric_scores`, times its `metric_weights` there, as in
    promptfoo: `NAME / __count` is a mean where one check of weight 1 bears the name in each test. `count` is how many
    outputs were judged; there it is how many were asked for, and a mean falls with each that an instrument lost, as if
    it had been bad. A metric that has no value (an unknown name, a division by 0) is None; there it would be 0.
    """
    known: dict[str, float] = {**sums, COUNT: float(count)}
    by_name: dict[str, float | None] = {}
    for metric in metrics:
        try:
            by_name[metric.name] = known[metric.name] = metric.formula.value(known)
        except NoValueError:
            by_name[metric.name] = None
            known.pop(metric.name, None)
    return by_name


def _mean(scores: Sequence[MetricScore]) -> float:
    total = math.fsum(score.weight for score in scores)
    return math.fsum(score.score * score.weight for score in scores) / total if total > 0 else 0.0
