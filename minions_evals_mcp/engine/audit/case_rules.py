"""From what a case is measured with to the rules that an audit tries, and what they leave to others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from minions_evals_mcp.domain.assertions import HOLDING, SET, Assertion
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, ByExpectation, ByNothing, BySimilarity, Measure
from minions_evals_mcp.judges.heuristic import guide, is_rule
from minions_evals_mcp.scoring.assertions.kinds.graded import GRADED
from minions_evals_mcp.scoring.assertions.kinds.similar import SIMILAR
from minions_evals_mcp.scoring.audit.rules import OWN, Rules, ScorePart
from minions_evals_mcp.scoring.rubric import RubricInUse

A_MODEL = "a model"
OWN_FUNCTION = "a function of your program"
TURNS = "the turns of a conversation"
OWN_EMBEDDER = "an embedder behind a network"
CODE_IN_PLACE = "code that replaces the checks"
NOTHING = "nothing: it has no rubric, assertion or expected output"


def rules_of(measure: Measure, *, embeds: bool) -> Rules:
    """The rules of a case. `embeds`: whether likeness can be measured here without asking anybody."""
    match measure.yardstick:
        case RubricInUse() as rubric:
            return _of_rubric(rubric, embeds=embeds)
        case ByAssertions() as own:
            return _of_assertions(own, measure.case.title, embeds=embeds)
        case ByExpectation(expected):
            return Rules(expected=expected)
        case BySimilarity(expected):
            return Rules(expected=expected, by_similarity=True) if embeds else Rules(left_out=(OWN_EMBEDDER,))
        case ByNothing():
            return Rules(left_out=(NOTHING,))
        case _:
            assert_never(measure.yardstick)


def _of_rubric(rubric: RubricInUse, *, embeds: bool) -> Rules:
    """The criteria that rules judge; the threshold is their share of what all criteria can give."""
    parts: list[ScorePart] = []
    others: list[str] = []
    for ident, criterion in rubric.criteria:
        assertions = (
            guide(criterion.scoring_guide) if criterion.judge_type == "heuristic" and is_rule(criterion) else ""
        )
        ruled, left = (), [criterion.judge_type.replace("llm", A_MODEL).replace("human", "a person")]
        if not isinstance(assertions, str):
            ruled, left = ruled_ones(assertions, embeds=embeds)
        elif assertions:
            left = ["scores that a proposal brings"]
        others += [f"{criterion.name}: {who}" for who in left]
        if ruled:
            parts.append(
                ScorePart(
                    ident, criterion.name, ruled, None, criterion.weight, criterion.min_score, criterion.max_score
                )
            )
    possible = sum(criterion.weight * criterion.max_score for _, criterion in rubric.criteria)
    by_rule = sum(part.weight * part.high for part in parts)
    share = by_rule / possible if possible else 1.0
    return Rules(tuple(parts), rubric.rubric.passing_threshold * share, left_out=tuple(others)) if parts and by_rule else Rules(
        left_out=tuple(others)
    )  # fmt: skip


def _of_assertions(own: ByAssertions, title: str, *, embeds: bool) -> Rules:
    if own.scoring is not None:
        return Rules(left_out=(CODE_IN_PLACE,))
    ruled, left = ruled_ones(own.assertions, embeds=embeds)
    if not ruled:
        return Rules(left_out=tuple(left))
    return Rules((ScorePart("", title, ruled, own.threshold),), left_out=tuple(left))


def ruled_ones(assertions: Sequence[Assertion], *, embeds: bool) -> tuple[tuple[Assertion, ...], list[str]]:
    """The assertions that rules decide, and who decides the others."""
    ruled_assertions: list[Assertion] = []
    left: list[str] = []
    for assertion in assertions:
        if assertion.base_type == SET:
            inner, others = ruled_ones(assertion.assertions, embeds=embeds)
            left += others
            if inner:
                ruled_assertions.append(assertion.model_copy(update={"assertions": inner}))
            continue
        other = next(_elsewhere(assertion, embeds=embeds), "")
        if other:
            left.append(other)
        else:
            ruled_assertions.append(assertion)
    return tuple(ruled_assertions), list(dict.fromkeys(left))


def _elsewhere(assertion: Assertion, *, embeds: bool) -> Iterator[str]:
    """Yields who decides an assertion that rules do not."""
    if assertion.base_type in HOLDING - {SET}:
        yield TURNS
    if assertion.base_type in GRADED:
        yield A_MODEL
    if assertion.base_type == OWN:
        yield OWN_FUNCTION
    if assertion.base_type in SIMILAR and (not embeds or assertion.provider is not None):
        yield OWN_EMBEDDER
