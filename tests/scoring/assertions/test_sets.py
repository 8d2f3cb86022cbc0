"""Sets of assertions: nested, weighted, with a threshold; and what they leave as it was in records without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError
from minions_evals_mcp.scoring.assertions.table import check, check_all, needs, vet
from minions_evals_mcp.scoring.checks import Aggregate, Checked, RegexNeed, Subject, Unchecked
from minions_evals_mcp.scoring.verdicts.examination import OutputChecks

YES = Assertion(type="contains", value="a")
NO = Assertion(type="contains", value="z")
SUBJECT = Subject("a")
UNRECORDED = Assertion(type="trajectory:step-count", value={"type": "tool", "min": 1})
"""Of an output whose tool calls nobody recorded it says nothing."""


def held(
    *assertions: Assertion, threshold: float | None = None, weight: float = 1, kind: str = "assert-set"
) -> Checked:
    """The verdict of a vetted set over the output "a"."""
    assertion = Assertion(type=kind, assertions=assertions, threshold=threshold, weight=weight)
    vet(assertion)
    found = check(assertion, SUBJECT)
    assert isinstance(found, Checked)
    return found


def test_a_set_scores_the_weighted_mean_and_passes_when_each_does() -> None:
    assert (held(YES, YES).passed, held(YES, YES).score) == (True, 1)
    heavy = NO.model_copy(update={"weight": 3})
    assert (held(YES, heavy).passed, held(YES, heavy).score) == (False, 0.25)
    assert held(YES, NO).reason == "1 of 2 passed, score 0.50; contains: does not contain 'z'"


@pytest.mark.parametrize(("threshold", "passed"), [(0, True), (0.5, True), (0.51, False), (1, False)])
def test_a_threshold_decides_instead_of_each(threshold: float, passed: bool) -> None:
    assert held(YES, NO, threshold=threshold).passed is passed
    assert held(YES, NO, threshold=threshold, kind="not-assert-set").passed is not passed


def test_a_set_keeps_the_verdicts_that_it_is_made_of() -> None:
    named = YES.model_copy(update={"metric": "m"})
    found = held(named, NO, kind="not-assert-set")
    assert [(one.type, one.passed, one.metric) for one in found.parts] == [
        ("contains", True, "m"),
        ("contains", False, None),
    ]


def test_a_set_counts_with_its_own_weight_among_others() -> None:
    inner = Assertion(type="assert-set", assertions=(YES, NO), threshold=0.5, weight=3)
    found = check_all([inner, NO], SUBJECT)
    assert isinstance(found, Aggregate)
    assert (found.passed, found.score) == (False, 0.375)


def test_weight_0_cannot_fail_a_set_or_a_member() -> None:
    assert held(NO, weight=0).passed
    assert held(YES, NO.model_copy(update={"weight": 0})).passed
    only = held(NO.model_copy(update={"weight": 0}))
    assert (only.passed, only.score) == (True, 0)


def test_sets_nest() -> None:
    inner = Assertion(type="assert-set", assertions=(YES, NO), threshold=0.5)
    outer = Assertion(type="not-assert-set", assertions=(inner, NO))
    assert held(inner, outer).passed


@pytest.mark.parametrize(
    ("assertion", "reason"),
    [
        (Assertion(type="assert-set"), "assert: must contain at least one"),
        (Assertion(type="assert-set", value=1, assertions=(YES,)), "value: a set takes none"),
        (
            Assertion(type="contains", value="a", assertions=(YES,)),
            "assert: only agent-turns, assert-set",
        ),
        (
            Assertion(type="assert-set", assertions=(Assertion(type="contains"),)),
            "assert.0.value: contains: must be a text",
        ),
    ],
)
def test_a_set_that_cannot_be_checked_is_refused(assertion: Assertion, reason: str) -> None:
    with pytest.raises(InvalidRecordError, match=reason):
        vet(assertion, at="suite.yaml:3")


def test_an_unknown_type_inside_a_set_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="'nope'"):
        vet(Assertion(type="assert-set", assertions=(Assertion(type="nope"),)))


def test_sets_nest_eight_deep_and_no_deeper() -> None:
    nested = YES
    for _ in range(8):
        nested = Assertion(type="assert-set", assertions=(nested,))
    vet(nested)
    with pytest.raises(InvalidRecordError, match="more than 8 deep"):
        vet(Assertion(type="assert-set", assertions=(nested,)))


def test_what_a_member_needs_the_set_needs() -> None:
    asking = Assertion(type="regex", value="a(?=b)")
    (need,) = needs([Assertion(type="assert-set", assertions=(asking,))], SUBJECT)
    assert need == RegexNeed("a(?=b)", "a")
    found = check(Assertion(type="assert-set", assertions=(asking,)), SUBJECT)
    assert isinstance(found, Unchecked)
    assert found.reason.startswith("regex: ")


def test_a_set_is_written_as_assert_and_others_do_not_mention_it() -> None:
    read = Assertion.model_validate_json('{"type": "assert-set", "assert": [{"type": "contains", "value": "a"}]}')
    assert read.assertions == (YES,)
    assert read.model_dump(mode="json")["assert"] == [YES.model_dump(mode="json")]
    assert YES.model_dump(mode="json").keys() == {"type", "value", "threshold", "weight", "metric"}
    assert Assertion.model_validate_json(read.model_dump_json()) == read


@given(st.lists(st.sampled_from([YES, NO]), min_size=1, max_size=6), st.sampled_from([None, 0.0, 0.3, 0.5, 1.0]))
def test_a_set_alone_is_the_same_as_its_members_together(members: list[Assertion], threshold: float | None) -> None:
    alone = held(*members, threshold=threshold)
    together = check_all(members, SUBJECT, threshold=threshold)
    assert isinstance(together, Aggregate)
    assert (alone.passed, alone.score) == (together.passed, together.score)


@pytest.mark.parametrize(
    ("checks", "decides"),
    [
        (OutputChecks([UNRECORDED, NO], SUBJECT), True),
        (OutputChecks([UNRECORDED, YES], SUBJECT), False),
        (OutputChecks([UNRECORDED, NO], SUBJECT, threshold=0.5), False),
        (OutputChecks([Assertion(type="assert-set", assertions=(UNRECORDED, NO))], SUBJECT, threshold=0.5), False),
        (OutputChecks([UNRECORDED, NO], SUBJECT, by_all=True), False),
        (OutputChecks([UNRECORDED, NO], SUBJECT._replace(of_config=True)), False),
    ],
)
def test_a_failed_check_decides_beside_an_unjudgeable_one_only_where_each_must_pass_and_nobody_looks_at_all(
    checks: OutputChecks, decides: bool
) -> None:
    answer = checks.answer()
    assert (isinstance(answer, Aggregate) and not answer.passed) is decides
    assert isinstance(answer, Aggregate) or answer.not_judgeable


def test_a_share_of_checks_is_known_only_once_each_is_judged() -> None:
    """A rubric's criterion and max-score take the score, which a part of the checks does not give."""
    assert isinstance(check_all([UNRECORDED, NO], SUBJECT), Unchecked)
