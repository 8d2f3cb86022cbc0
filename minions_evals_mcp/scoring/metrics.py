"""Named metrics of a test's checks, and metrics that are computed from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.checks import Checked
from minions_evals_mcp.scoring.formula import Formula, NoValueError, parse_formula

COUNT = "__count"
"""The name under which a formula finds how many tests were run."""


class Named(NamedTuple):
    """A score under its metric's name, and what it weighs there."""

    name: str
    score: float
    weight: float


class Derived(NamedTuple):
    """A metric that is computed from others."""

    name: str
    formula: Formula


def named_scores(results: Sequence[Checked]) -> Iterator[Named]:
    """The score of every check that names a metric, those inside sets too, which weigh what their set lets them weigh.

    A check inside a set that names the same metric as the set is a part of it already.
    """
    for one in results:
        if one.metric:
            yield Named(one.metric, one.score, one.weight)
        for inner in named_scores(one.parts):
            if inner.name != one.metric:
                yield inner._replace(weight=inner.weight * one.weight)


def metric_scores(results: Sequence[Checked]) -> dict[str, float]:
    """Each metric's weighted mean over one test's checks; 0 where all its weights are 0."""
    found: dict[str, list[Named]] = {}
    for one in named_scores(results):
        found.setdefault(one.name, []).append(one)
    return {name: _mean(scores) for name, scores in found.items()}


def derived(name: str, formula: str, *, at: str = "") -> Derived:
    """A metric computed by `formula`; raises `InvalidRecordError` for a name or a formula that cannot be carried out."""
    if not name.strip() or name == COUNT:
        raise InvalidRecordError(f"{name!r} is no name for a derived metric", field="name", where=at)
    try:
        return Derived(name, parse_formula(formula))
    except InvalidRecordError as error:
        raise error.at(at) from None


def derive(metrics: Sequence[Derived], sums: Mapping[str, float], count: int) -> dict[str, float | None]:
    """The derived metrics in order, each from the sums over `count` tests and from those before it.

    `sums` holds the sum over all tests of each test's `metric_scores`, so that a mean is `NAME / __count`, as in
    promptfoo. One that has no value (an unknown name, a division by 0) is None; there it would be 0.
    """
    known: dict[str, float] = {**sums, COUNT: float(count)}
    found: dict[str, float | None] = {}
    for metric in metrics:
        try:
            found[metric.name] = known[metric.name] = metric.formula.value(known)
        except NoValueError:
            found[metric.name] = None
            known.pop(metric.name, None)
    return found


def _mean(scores: Sequence[Named]) -> float:
    total = math.fsum(one.weight for one in scores)
    return math.fsum(one.score * one.weight for one in scores) / total if total > 0 else 0.0
