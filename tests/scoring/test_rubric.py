"""Rubric arithmetic: weighted totals, the threshold, and rubrics that nothing could pass."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.domain.definitions import JudgeType, Rubric, RubricCriterion
from minions_evals_mcp.domain.outcomes import Verdict
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.rubric import (
    RubricInUse,
    criterion_digest,
    fraction,
    in_use,
    run_judge_type,
    totals,
    vet_rubric,
)

AT = datetime(2026, 3, 1, tzinfo=UTC)


def criterion(weight: float = 1, low: float = 0, high: float = 1, **fields: object) -> RubricCriterion:
    named = {"rubric_id": "r", "name": "n", "weight": weight, "min_score": low, "max_score": high}
    return RubricCriterion.model_validate({**named, **fields})


def parts(criteria: list[RubricCriterion]) -> list[Record[RubricCriterion]]:
    return [Record(f"c{number}", one, "c", AT, AT) for number, one in enumerate(criteria)]


def head(threshold: float, ident: str = "r") -> Record[Rubric]:
    return Record(ident, Rubric(name="n", passing_threshold=threshold), "n", AT, AT)


def rubric(threshold: float, *criteria: RubricCriterion) -> RubricInUse:
    return in_use(head(threshold), parts(list(criteria)))


def verdict(number: int, of: RubricCriterion, score: float, by: JudgeType = "llm") -> Verdict:
    return Verdict(
        criterion_id=f"c{number}", score=score, min_score=of.min_score, max_score=of.max_score, rationale="r",
        judged_by="j", judged_by_type=by, confidence=1,
    )  # fmt: skip


def verdicts(used: RubricInUse, *scores: float) -> list[Verdict]:
    return [
        verdict(number, one, score) for number, ((_, one), score) in enumerate(zip(used.criteria, scores, strict=True))
    ]


@st.composite
def judged(draw: st.DrawFn) -> tuple[RubricInUse, list[float]]:
    """A rubric of 1 to 5 criteria with a score in the range of each."""
    criteria: list[RubricCriterion] = []
    scores: list[float] = []
    for _ in range(draw(st.integers(1, 5))):
        low = draw(st.floats(-10, 10))
        high = low + draw(st.floats(0.5, 10))
        criteria.append(criterion(draw(st.floats(0, 1)), low, high))
        scores.append(draw(st.floats(low, high)))
    return rubric(draw(st.floats(-50, 50)), *criteria), scores


def test_the_total_is_the_weighted_sum_and_the_most_is_that_of_the_highest_scores() -> None:
    used = rubric(2.5, criterion(0.5, 0, 4), criterion(0.25, 1, 5))
    found = totals(used, verdicts(used, 3, 4))
    assert (found.score, found.possible, found.passed) == (2.5, 3.25, True)


def test_weights_need_not_sum_to_one_and_a_weight_of_zero_counts_nothing() -> None:
    used = rubric(2, criterion(1), criterion(1), criterion(0))
    assert totals(used, verdicts(used, 1, 1, 0)).score == 2
    assert totals(used, verdicts(used, 1, 1, 1)).possible == 2


def test_a_total_that_equals_the_threshold_passes_and_one_below_does_not() -> None:
    used = rubric(0.7, criterion())
    assert totals(used, verdicts(used, 0.7)).passed
    assert not totals(used, verdicts(used, 0.699)).passed
    assert totals(used, verdicts(used, 0.8)).passed


def test_a_rounding_error_does_not_fail_a_run_but_a_real_gap_does() -> None:
    used = rubric(0.3, criterion(0.1), criterion(0.2))
    assert totals(used, verdicts(used, 1, 1)).passed
    barely = rubric(0.5, criterion())
    assert totals(barely, verdicts(barely, 0.5 - 1e-10)).passed
    assert not totals(barely, verdicts(barely, 0.5 - 1e-8)).passed


def test_verdicts_are_matched_to_their_criteria_by_id_not_by_order() -> None:
    used = rubric(1, criterion(1, 0, 10), criterion(0.1, 0, 10))
    said = verdicts(used, 10, 1)
    assert totals(used, said[::-1]) == totals(used, said)
    assert math.isclose(totals(used, said).score, 10.1)


@given(judged(), st.randoms(use_true_random=False))
def test_the_total_does_not_depend_on_the_order_of_the_criteria(
    case: tuple[RubricInUse, list[float]], random: object
) -> None:
    used, scores = case
    backwards = in_use(head(used.rubric.passing_threshold), parts([one for _, one in reversed(used.criteria)]))
    one, other = totals(used, verdicts(used, *scores)), totals(backwards, verdicts(backwards, *reversed(scores)))
    assert one == other


@given(judged(), st.data())
def test_a_higher_score_never_lowers_the_total_nor_turns_a_pass_into_a_failure(
    case: tuple[RubricInUse, list[float]], data: st.DataObject
) -> None:
    used, scores = case
    which = data.draw(st.integers(0, len(scores) - 1))
    raised = list(scores)
    raised[which] = data.draw(st.floats(scores[which], used.criteria[which][1].max_score))
    before, after = totals(used, verdicts(used, *scores)), totals(used, verdicts(used, *raised))
    assert after.score >= before.score
    assert after.passed or not before.passed
    assert after.possible == before.possible


@given(judged())
def test_the_total_lies_between_the_lowest_and_the_highest_possible(case: tuple[RubricInUse, list[float]]) -> None:
    used, scores = case
    least = totals(used, verdicts(used, *(one.min_score for _, one in used.criteria))).score
    found = totals(used, verdicts(used, *scores))
    assert least <= found.score <= found.possible


@given(judged())
def test_the_fraction_of_a_score_lies_in_0_to_1_and_is_exact_at_both_ends(
    case: tuple[RubricInUse, list[float]],
) -> None:
    used, scores = case
    for said in verdicts(used, *scores):
        assert 0 <= fraction(said) <= 1
        assert fraction(said.model_copy(update={"score": said.min_score})) == 0
        assert fraction(said.model_copy(update={"score": said.max_score})) == 1


def test_the_judge_type_of_a_run_is_that_of_the_heaviest_criterion_the_first_among_equals() -> None:
    used = rubric(1, criterion(0.2), criterion(0.5), criterion(0.5))
    kinds: list[JudgeType] = ["llm", "human", "heuristic"]
    said = [
        verdict(number, one, 1, kind) for number, ((_, one), kind) in enumerate(zip(used.criteria, kinds, strict=True))
    ]
    assert run_judge_type(used, said) == "human"
    assert run_judge_type(used, said[::-1]) == "human"


def test_the_weight_of_a_criterion_is_found_by_its_id() -> None:
    used = rubric(1, criterion(0.2), criterion(0.5))
    assert (used.weight("c0"), used.weight("c1")) == (0.2, 0.5)


def refusal(threshold: float, *criteria: RubricCriterion) -> str:
    with pytest.raises(InvalidRecordError, match=r"^rubric r: ") as refused:
        vet_rubric(head(threshold), parts(list(criteria)))
    return refused.value.field + ": " + refused.value.reason


def test_a_rubric_without_criteria_or_without_weight_is_refused() -> None:
    assert refusal(0) == "fields.criteriaIds: a rubric needs at least one criterion"
    assert refusal(0, criterion(0), criterion(0)) == "fields.criteriaIds: all its criteria have weight 0"


def test_a_rubric_whose_highest_total_is_not_above_zero_is_refused() -> None:
    assert refusal(-1, criterion(1, -5, 0)) == "fields.criteriaIds: the highest total is 0; it must be above 0"


def test_a_rubric_whose_threshold_no_output_could_reach_is_refused() -> None:
    said = refusal(3.5, criterion(0.5, 0, 4), criterion(0.25, 0, 4))
    assert said == "fields.passingThreshold: no output can reach 3.5; the highest total is 3"


def test_a_rubric_that_only_a_perfect_output_passes_is_accepted() -> None:
    vet_rubric(head(3), parts([criterion(0.5, 0, 4), criterion(0.25, 0, 4)]))
    vet_rubric(head(0.3), parts([criterion(0.1), criterion(0.2)]))


def test_the_digest_of_a_rubric_holds_all_that_decides_a_score_and_nothing_else() -> None:
    base = rubric(0.5, criterion(0.5, scoring_guide="g"))
    assert rubric(0.5, criterion(0.5, scoring_guide="g")).digest == base.digest
    renamed = Record("r", Rubric(name="other", passing_threshold=0.5, version=7, description="d"), "t", AT, AT)
    assert in_use(renamed, parts([criterion(0.5, scoring_guide="g")])).digest == base.digest
    others = [
        rubric(0.6, criterion(0.5, scoring_guide="g")),
        rubric(0.5, criterion(0.4, scoring_guide="g")),
        rubric(0.5, criterion(0.5, scoring_guide="h")),
        rubric(0.5, criterion(0.5, 0, 2, scoring_guide="g")),
        rubric(0.5, criterion(0.5, scoring_guide="g", judge_type="human")),
        rubric(0.5, criterion(0.5, scoring_guide="g"), criterion()),
        in_use(head(0.5, "another"), parts([criterion(0.5, scoring_guide="g")])),
    ]
    assert len({base.digest, *(one.digest for one in others)}) == 8


def test_the_digest_of_a_criterion_holds_what_a_judge_is_told_of_it_not_its_weight_or_who_judges() -> None:
    base = criterion_digest(criterion(0.5, scoring_guide="g"))
    assert criterion_digest(criterion(0.1, scoring_guide="g", judge_type="human", rubric_id="other")) == base
    told: dict[str, object] = {
        "scoring_guide": "h",
        "description": "d",
        "name": "other",
        "min_score": -1,
        "max_score": 2,
    }
    plain = criterion(0.5, scoring_guide="g")
    changed = {criterion_digest(plain.model_copy(update={key: value})) for key, value in told.items()}
    assert len(changed | {base}) == 6
