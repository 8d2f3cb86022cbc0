"""The gates that every judgment and every run goes through, the ways a unit can end, and the errors."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from minions_evals_mcp import errors
from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.domain.outcomes import (
    Awaiting,
    AwaitingUser,
    Ended,
    Failed,
    JudgeErrored,
    NotJudgeable,
    Observed,
    Passed,
    Skipped,
    TargetErrored,
    UnitKey,
    UserErrored,
    Verdict,
)
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EvalFailure, EvalJudgment, Outcome, TestRun
from minions_evals_mcp.domain.vetted import completed, judgment, vetted_verdict
from minions_evals_mcp.errors import (
    BadInputError,
    BusyError,
    ConflictError,
    EvalsError,
    InstrumentError,
    InvalidRecordError,
    NotFoundError,
    RuleError,
    StoppedError,
    StoreError,
    UnsupportedError,
)
from minions_evals_mcp.store.unit_rows import outcome_of
from tests.domain.every_type import AT, FULL

GOOD = Verdict(
    criterion_id="c1", score=3, min_score=1, max_score=5, rationale="It says yes.", judged_by="anthropic:judge",
    judged_by_type="llm", confidence=0.9,
)  # fmt: skip


def verdict(**changes: object) -> Verdict:
    return GOOD.model_copy(update=changes)


def run_record(*, passed: bool) -> Record[TestRun]:
    fields = next(one for one in FULL if isinstance(one, TestRun)).model_copy(update={"passed": passed})
    return Record("run1", fields, "a run", AT, AT)


def failure(test_run_id: str = "run1") -> Record[EvalFailure]:
    fields = next(one for one in FULL if isinstance(one, EvalFailure)).model_copy(update={"test_run_id": test_run_id})
    return Record("f1", fields, "a failure", AT, AT)


@pytest.mark.parametrize("blank", ["", " \n", "\u200b", "\u200b \ufeff\u2060", "\u3164", "\u00ad"])
def test_a_verdict_without_a_visible_rationale_is_refused(blank: str) -> None:
    with pytest.raises(RuleError, match="HR4: criterion c1: a judgment needs a rationale") as refused:
        vetted_verdict(verdict(rationale=blank))
    assert (refused.value.rule, refused.value.exit_code) == ("HR4", 2)


@pytest.mark.parametrize("score", [1, 1.0, 3.7, 5])
def test_a_score_in_its_range_is_accepted_as_it_stands(score: float) -> None:
    assert vetted_verdict(verdict(score=score)).score == score


@pytest.mark.parametrize("score", [0.999, 5.001, -3, 99])
def test_a_score_outside_its_range_is_refused_not_clamped(score: float) -> None:
    with pytest.raises(InvalidRecordError, match=f"{score:g} is outside 1 to 5") as refused:
        vetted_verdict(verdict(score=score))
    assert (refused.value.field, refused.value.record) == ("score", "criterion c1")


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-10, 10), st.floats(0, 10))
def test_a_verdict_is_vetted_exactly_where_its_score_lies_in_its_range(score: float, low: float, width: float) -> None:
    given_verdict = verdict(score=score, min_score=low, max_score=low + width)
    if low <= score <= low + width:
        assert vetted_verdict(given_verdict) is given_verdict
    else:
        with pytest.raises(InvalidRecordError):
            vetted_verdict(given_verdict)


def test_a_verdict_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="judgedBy: is missing"):
        vetted_verdict(verdict(judged_by="\u200b"))


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan")])
def test_a_confidence_outside_0_to_1_cannot_be_said(confidence: float) -> None:
    with pytest.raises(ValidationError):
        Verdict.model_validate({**GOOD.model_dump(), "confidence": confidence})


def test_a_judgment_says_what_the_verdict_said_and_which_run_it_belongs_to() -> None:
    made = judgment("run1", 2, GOOD, at=AT)
    assert (made.id, made.title, made.created_at) == ("run1:j2", "c1: 3", AT)
    assert made.fields == EvalJudgment(
        test_run_id="run1", criterion_id="c1", score=3, min_score=1, max_score=5, rationale="It says yes.",
        judged_by="anthropic:judge", judged_by_type="llm", judged_at=AT, confidence=0.9,
    )  # fmt: skip


def test_a_failed_run_without_its_own_failure_cannot_be_completed() -> None:
    for wrong in (None, failure("another-run")):
        with pytest.raises(RuleError, match="HR3: the failed test-run run1 has no eval-failure") as refused:
            completed(run_record(passed=False), [], wrong)
        assert refused.value.rule == "HR3"


def test_a_run_is_completed_as_what_it_is() -> None:
    judged = [judgment("run1", 1, GOOD, at=AT)]
    metrics = [MetricScore("tone", 0.5, 1)]
    lost = completed(run_record(passed=False), judged, failure(), metrics=metrics)
    assert lost == Failed(run_record(passed=False), tuple(judged), failure(), tuple(metrics))
    won = completed(run_record(passed=True), judged, None, metrics=metrics)
    assert won == Passed(run_record(passed=True), tuple(judged), tuple(metrics))
    assert not hasattr(completed(run_record(passed=True), [], failure()), "failure")


def test_the_ways_a_unit_ends_are_a_closed_union_and_each_has_its_outcome() -> None:
    slow = Record("run1", run_record(passed=False).fields.model_copy(update={"outcome": "timed-out"}), "slow", AT, AT)
    ends: list[Ended] = [
        Passed(run_record(passed=True), ()),
        Failed(slow, (), failure()),
        JudgeErrored("no reply"),
        TargetErrored("no reply", fatal=True),
        UserErrored(Observed(output={}), "turn 2: the stop token was said"),
        Skipped("no output"),
        NotJudgeable("c1", "no sound in a text"),
        Awaiting(Observed(output={}), "digest", "human", {}),
        AwaitingUser("digest", "caller"),
    ]
    assert {type(end) for end in ends} == set(get_args(Ended))
    waiting = ["awaiting-judgments"]  # an output waits for its judge, a conversation for its user
    assert sorted(outcome_of(end) for end in ends) == sorted([*get_args(Outcome), *waiting])


def test_an_end_cannot_be_changed_afterwards() -> None:
    with pytest.raises(AttributeError):
        JudgeErrored("a").reason = "b"  # pyright: ignore[reportAttributeAccessIssue]  what is tested


def test_the_id_of_a_units_run_is_the_same_however_often_it_is_tried() -> None:
    assert UnitKey("job1", 0, 1).run_id == UnitKey("job1", 0, 1).run_id == "job1:1.1"
    assert len({UnitKey("j", position, trial).run_id for position in range(12) for trial in range(1, 13)}) == 144


LEAVES: dict[type[EvalsError], tuple[str, int]] = {
    BadInputError: ("bad-input", 2),
    InvalidRecordError: ("invalid-record", 2),
    NotFoundError: ("not-found", 2),
    UnsupportedError: ("unsupported", 2),
    ConflictError: ("conflict", 2),
    RuleError: ("hard-rule", 2),
    errors.SealedError: ("sealed", 2),
    errors.NotAllowedError: ("not-allowed", 2),
    BusyError: ("busy", 3),
    InstrumentError: ("instrument-failed", 3),
    StoppedError: ("stopped", 3),
    StoreError: ("store", 3),
    errors.StoreVersionError: ("store-version", 3),
}


def test_every_error_has_a_code_of_its_own_and_an_exit_code() -> None:
    declared = {
        one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, EvalsError)
    } - {EvalsError}  # fmt: skip
    assert declared == set(LEAVES)
    assert {kind: (kind.code, kind.exit_code) for kind in declared} == LEAVES
    assert len({kind.code for kind in (*declared, EvalsError)}) == len(declared) + 1


def test_an_error_says_what_happened_and_then_what_to_do() -> None:
    assert str(BusyError("The run is under way.", remedy="Wait.")) == "The run is under way. Wait."
    assert str(BusyError("The run is under way.")) == "The run is under way."
    missing = NotFoundError("rubric", "r1", remedy="List them.")
    assert (str(missing), missing.kind, missing.ident) == ("no rubric with the id 'r1'. List them.", "rubric", "r1")


def test_a_refused_record_says_where_it_stands_and_keeps_that_when_the_file_is_named_later() -> None:
    refused = InvalidRecordError("is missing", field="fields.name", record="rubric r1", remedy="Name it.")
    placed = refused.at("suite.yaml:7")
    assert str(refused) == "rubric r1: fields.name: is missing. Name it."
    assert str(placed) == "suite.yaml:7: rubric r1: fields.name: is missing. Name it."
    assert (placed.where, placed.field, placed.record, placed.remedy) == (
        "suite.yaml:7", "fields.name", "rubric r1", "Name it.",
    )  # fmt: skip
    assert str(InvalidRecordError("is empty")) == "is empty"


@pytest.mark.parametrize("fields", FULL, ids=lambda fields: fields.slug)
def test_a_value_that_is_trusted_is_the_value_that_would_be_checked(fields: Fields) -> None:
    kind, given_fields = type(fields), {name: getattr(fields, name) for name in fields.model_fields_set}
    trusted = kind.trusted(**given_fields)
    assert trusted == fields
    assert trusted.model_dump_json() == fields.model_dump_json()
    assert trusted.model_dump_json(exclude_defaults=True) == fields.model_dump_json(exclude_defaults=True)
    copied = trusted.model_copy(update=given_fields)
    assert copied == fields


def test_a_judgment_is_one_that_the_store_can_read_again() -> None:
    made = judgment("run1", 1, GOOD, at=AT).fields
    assert EvalJudgment.model_validate_json(made.model_dump_json()) == made
