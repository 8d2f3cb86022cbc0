"""Judging by rule: what a guide may hold, and the score that its assertions give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.outcomes import JudgeErrored, Verdict
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError
from minions_evals_mcp.judges.heuristic import explained, guide, guide_needs, is_rule, judge_by_rule
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.scoring.assertions.table import SCORER_VERSION
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Checked, Evidence, RegexNeed, Unmet
from tests.judges.workpieces import criterion, work

LOOKAHEAD = "[{type: regex, value: '(?=.*refund)'}]"


def judged(judging: Criterion, seen: Work, evidence: Evidence = NO_EVIDENCE) -> Verdict:
    verdict, _ = judge_by_rule(judging, seen, evidence)
    assert isinstance(verdict, Verdict)
    return verdict


def errored(judging: Criterion, seen: Work, evidence: Evidence = NO_EVIDENCE) -> str:
    verdict, checks = judge_by_rule(judging, seen, evidence)
    assert isinstance(verdict, JudgeErrored)
    assert not verdict.fatal
    assert checks == ()
    return verdict.reason


@pytest.mark.parametrize(
    "text",
    [
        "[{type: contains, value: yes please}]",
        '[{"type": "contains", "value": "yes please"}]',
        "type: contains\nvalue: yes please",
        "- type: contains\n  value: yes please\n",
        '{"type": "contains", "value": "yes please"}',
    ],
)
def test_a_guide_is_one_assertion_or_a_list_of_them_as_yaml_or_json(text: str) -> None:
    assert guide(text) == (Assertion(type="contains", value="yes please"),)


def test_a_guide_keeps_every_key_of_its_assertions() -> None:
    text = "[{type: not-levenshtein, value: abc, threshold: 2, weight: 0.5, metric: close}]"
    assert guide(text) == (Assertion(type="not-levenshtein", value="abc", threshold=2, weight=0.5, metric="close"),)


def test_a_date_in_a_guide_is_its_text() -> None:
    assert guide("[{type: contains, value: 2026-03-01}]") == (Assertion(type="contains", value="2026-03-01"),)


def test_a_guide_may_take_over_a_proposals_score() -> None:
    assert guide("fromProposal: relevance") == "relevance"
    assert guide('{"fromProposal": "relevance"}') == "relevance"


@pytest.mark.parametrize(
    "text",
    [
        "Is the answer friendly?", "", "   ", "[]", "{}", "5", "null", "[1, 2]", "[prose]", "tone: friendly", "a: b: c",
        "[unclosed", "fromProposal: 5", "fromProposal: [relevance]", "{fromProposal: relevance, type: contains}",
        "[{type: contains, value: x, wait: 1}]", "[{value: x}]", "[{type: contains, value: x, weight: -1}]",
        "[{type: contains, value: 2026-13-31}]", "&a [*a]", "[&a {type: contains, value: x}, *a]", "[" * 60 + "]" * 60,
    ],
)  # fmt: skip
def test_a_guide_of_another_form_is_refused_with_the_form_that_it_should_have(text: str) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        guide(text)
    assert refused.value.field == "fields.scoringGuide"
    assert "Write assertions, e.g. scoringGuide:" in refused.value.remedy
    assert not is_rule(criterion(guide=text).fields)


def test_the_form_in_the_refusal_is_itself_a_guide() -> None:
    with pytest.raises(InvalidRecordError) as refused:
        guide("prose")
    example = refused.value.remedy.split('"')[1]
    assert len(guide(example)) == 2


@pytest.mark.parametrize(("depth", "reason"), [(100, "nested more than 50 deep"), (100_000, "nest(ed|ing)")])
def test_a_guide_nested_deep_enough_to_kill_a_parser_is_refused(depth: int, reason: str) -> None:
    with pytest.raises(InvalidRecordError, match=reason):
        guide("[" * depth + "]" * depth)


def test_an_assertion_of_an_unknown_type_or_that_lacks_its_value_is_refused_with_its_place() -> None:
    with pytest.raises(UnsupportedError, match=r"fields\.scoringGuide\[1\]: unknown assertion type 'tone'"):
        guide("[{type: contains, value: x}, {type: tone}]")
    with pytest.raises(InvalidRecordError, match=r"fields\.scoringGuide\[0\]: contains: value"):
        guide("[{type: contains}]")


def test_a_criterion_whose_guide_holds_assertions_can_be_judged_by_rule() -> None:
    assert is_rule(criterion(guide="[{type: is-json}]").fields)
    assert is_rule(criterion(guide="fromProposal: relevance").fields)


@pytest.mark.parametrize(("low", "high", "score"), [(0, 1, 0.75), (1, 5, 4), (-2, 2, 1)])
def test_the_score_is_the_lowest_plus_the_aggregates_share_of_the_range(low: float, high: float, score: float) -> None:
    three_of_four = "[{type: contains, value: refund, weight: 3}, {type: contains, value: nowhere}]"
    verdict = judged(criterion(guide=three_of_four, low=low, high=high), work())
    assert verdict.score == score
    assert (verdict.min_score, verdict.max_score, verdict.criterion_id) == (low, high, "c1")


@given(
    st.floats(-10, 10),
    st.floats(0.1, 10),
    st.lists(st.tuples(st.booleans(), st.floats(0.1, 2)), min_size=1, max_size=4),
)
def test_the_score_always_lies_in_the_range_and_is_exact_at_its_ends(
    low: float, width: float, checks: list[tuple[bool, float]]
) -> None:
    rules = [f"{{type: contains, value: {'refund' if hit else 'zzz'}, weight: {weight}}}" for hit, weight in checks]
    judging = criterion(guide=f"[{', '.join(rules)}]", low=low, high=low + width)
    score = judged(judging, work()).score
    assert judging.fields.min_score <= score <= judging.fields.max_score
    if all(hit for hit, _ in checks):
        assert score == judging.fields.max_score
    if not any(hit for hit, _ in checks):
        assert score == judging.fields.min_score


def test_a_verdict_by_rule_is_certain_and_says_which_rules_judged() -> None:
    verdict = judged(criterion(guide="[{type: contains, value: refund}]"), work())
    assert (verdict.judged_by, verdict.judged_by_type, verdict.confidence) == (SCORER_VERSION, "heuristic", 1)
    assert (verdict.input_tokens, verdict.output_tokens, verdict.cost_usd) == (0, 0, 0)


def test_the_rationale_names_every_check_the_failed_ones_first() -> None:
    rules = "[{type: contains, value: refund}, {type: contains, value: nowhere}]"
    said = judged(criterion(guide=rules), work()).rationale
    assert said == "failed contains: does not contain 'nowhere'; passed contains: contains 'refund'"


def test_the_order_of_checks_that_came_out_alike_is_kept() -> None:
    results = [Checked(name, passed, float(passed), "r") for name, passed in (("a", True), ("b", False), ("c", False))]
    assert explained(results) == "failed b: r; failed c: r; passed a: r"


def test_the_checks_themselves_come_back_with_their_metrics() -> None:
    _, checks = judge_by_rule(criterion(guide="[{type: contains, value: refund, metric: found}]"), work(), NO_EVIDENCE)
    assert [(one.type, one.passed, one.metric) for one in checks] == [("contains", True, "found")]


def test_rules_see_what_was_measured_beside_the_text() -> None:
    rules = criterion(guide="[{type: latency, threshold: 100}, {type: cost, threshold: 0.01}]")
    assert judged(rules, work(latency_ms=50, cost_usd=0.005)).score == 1
    assert judged(rules, work(latency_ms=150, cost_usd=0.005)).score == 0.5


def test_a_check_that_cannot_be_carried_out_is_a_judge_error_not_a_score() -> None:
    reason = errored(criterion(guide=LOOKAHEAD), work())
    assert reason.startswith("criterion c1: regex: ")


def test_evidence_for_a_hard_pattern_is_asked_for_and_used() -> None:
    judging, seen = criterion(guide=LOOKAHEAD), work()
    (need,) = guide_needs(judging, seen)
    assert isinstance(need, RegexNeed)
    assert need.text == seen.text
    assert judged(judging, seen, Evidence({need: True})).score == 1
    assert judged(judging, seen, Evidence({need: False})).score == 0
    assert "took too long" in errored(judging, seen, Evidence({need: Unmet("took too long")}))


def test_a_proposals_score_becomes_the_criterions_score_as_it_is() -> None:
    judging = criterion(guide="fromProposal: relevance", high=10)
    verdict = judged(judging, work(proposal_scores={"relevance": 7.5, "tone": 1}))
    assert verdict.score == 7.5
    assert verdict.rationale == "score given by the proposal-draft: relevance = 7.5"
    assert verdict.judged_by_type == "heuristic"
    assert guide_needs(judging, work()) == ()


def test_a_proposals_score_that_is_missing_or_out_of_range_is_a_judge_error() -> None:
    judging = criterion(guide="fromProposal: relevance", high=5)
    assert "gives a score named 'relevance'" in errored(judging, work(proposal_scores={"tone": 1}))
    for score in (-0.1, 5.1):
        assert "outside the criterion's range" in errored(judging, work(proposal_scores={"relevance": score}))
