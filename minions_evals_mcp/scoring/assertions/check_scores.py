"""Each check's own score on an output, under the name and digest by which runs are compared: pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from minions_evals_mcp.domain.assertions import SET, TURN, Assertion
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.metric_scores import CheckScore
from minions_evals_mcp.scoring.assertions.kinds.graded import LLM_RUBRIC
from minions_evals_mcp.scoring.assertions.kinds.own import FUNCTION, named
from minions_evals_mcp.scoring.checks import Checked

RUBRIC = "rubric"
"""The name of a rubric beside other checks, unless it has one of its own."""
NOT_MEASURED = frozenset({"weight", "metric"})
"""The fields of an assertion that do not bear on its own verdict."""


class CheckMeasure(NamedTuple):
    """The identity of a check, and what it took: milliseconds and US dollars, None where that was not measured."""

    digest: str
    duration_ms: float | None = None
    cost_usd: float | None = None


def assertion_digest(assertion: Assertion) -> str:
    """The digest of all of a check that bears on its own verdict."""
    return digest(assertion.model_dump(mode="json", exclude=set(NOT_MEASURED)))[:16]


def check_names(assertions: Sequence[Assertion]) -> tuple[str, ...]:
    """The name of each check: its metric, its function's name, else its type; numbered where several have one."""
    return tuple(_numbered(assertion.metric or _name(assertion) for assertion in assertions))


def _name(assertion: Assertion) -> str:
    if assertion.base_type == FUNCTION:
        return named(assertion)
    if assertion.base_type == TURN:
        return f"{assertion.type} {assertion.value}"
    graded = assertion.base_type == SET and all(part.base_type == LLM_RUBRIC for part in assertion.assertions)
    return RUBRIC if graded else assertion.type


def _numbered(names: Iterator[str]) -> Iterator[str]:
    taken: set[str] = set()
    for name in names:
        free = name if name not in taken else next(at for n in range(2, 10**6) if (at := f"{name} {n}") not in taken)
        taken.add(free)
        yield free


def check_scores(
    names: Sequence[str], results: Sequence[Checked], measures: Sequence[CheckMeasure]
) -> tuple[CheckScore, ...]:
    """The scores in order. A function that gave several scores has a check for each of them."""
    scores = [
        score
        for name, result, measure in zip(names, results, measures, strict=True)
        for score in _scores(name, result, measure)
    ]
    free = _numbered(iter([score.name for score in scores]))
    return tuple(
        score if name == score.name else score.with_trusted(name=name) for score, name in zip(scores, free, strict=True)
    )


def _scores(name: str, result: Checked, measure: CheckMeasure) -> Iterator[CheckScore]:
    parts = tuple(
        _score(part_name, part, CheckMeasure(digest([measure.digest, part_name])[:16]))
        for part_name, part in zip(_part_names(result.parts), result.parts, strict=True)
    )
    if result.type == FUNCTION and parts:
        yield from (part.with_trusted(duration_ms=measure.duration_ms) for part in parts)
    else:
        yield _score(name, result, measure, parts)


def _part_names(parts: Sequence[Checked]) -> list[str]:
    return [*_numbered(iter([part.metric or part.type for part in parts]))]


def _score(name: str, result: Checked, measure: CheckMeasure, parts: tuple[CheckScore, ...] = ()) -> CheckScore:
    return CheckScore.trusted(
        name=name,
        digest=measure.digest,
        score=min(1.0, max(0.0, result.score)),
        passed=result.passed,
        reason=result.reason,
        weight=result.weight,
        duration_ms=measure.duration_ms,
        cost_usd=measure.cost_usd,
        parts=parts,
    )


def known_total(amounts: Iterable[float | None]) -> float | None:
    """The sum of the amounts; None where one of them is not known."""
    total = 0.0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total
