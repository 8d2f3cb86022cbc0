"""What the classes, the severity, the evidence and the root cause rest on."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failures.failed import FailedCriterion
from minions_evals_mcp.scoring.failures.texts import told_apart
from tests.scoring.failures.failed_outputs import QUIET, logged, lost, saying

MILLION = 1_000_000


def test_the_first_class_in_order_wins_and_the_other_evidence_is_kept() -> None:
    failed = saying(
        "I'm sorry, but I can't help with that. It costs $99.", replace(QUIET, inputs={"context": "It costs $5."})
    )
    failed = replace(failed, wants_json=True, timed_out=True, stop_reason="max_tokens")
    told: list[str] = []
    for step in ({}, {"timed_out": False}, {"text": "It costs $99."}, {"wants_json": False, "stop_reason": None}):
        failed = replace(failed, **step)
        analysis = classify(failed)
        told.append(analysis.failure_type)
        assert "number: $99" in analysis.signals
    assert told == ["timeout", "refusal", "format-error", "hallucination"]
    assert classify(replace(failed, text="It costs $5.")).failure_type == "wrong-output"


@pytest.mark.parametrize(
    ("fraction", "severity"),
    [(0.0, "critical"), (0.2499, "critical"), (0.25, "major"), (0.5999, "major"), (0.6, "minor")],
)
def test_the_severity_follows_the_normalised_score(fraction: float, severity: str) -> None:
    assert classify(replace(QUIET, score_fraction=fraction)).severity == severity


def test_the_limits_of_severity_can_be_set() -> None:
    assert classify(QUIET, critical_below=0.6, major_below=0.8).severity == "critical"


def test_the_criteria_within_half_of_the_largest_loss_are_affected_the_costliest_first() -> None:
    criteria = (lost("tone", 0.5, 0.4), lost("facts", 0.0, 0.4), lost("form", 0.9, 0.4), lost("safety", 1.0, 1.0))
    assert classify(replace(QUIET, criteria=criteria)).affected_criterion_ids == ("id-facts", "id-tone")
    assert classify(QUIET).affected_criterion_ids == ()


def test_the_description_begins_with_the_recorded_reason_and_claims_no_comparison_that_nothing_made() -> None:
    said = classify(replace(QUIET, criteria=(lost("facts", 0.25, 0.5, "Blue is wrong."),))).description
    assert said == "facts (0.25 of 1): Blue is wrong.\nGot “blue”."
    assert classify(replace(QUIET, output={}, text="{}", expected=None)).description == "Nothing came."


def test_a_form_that_was_judged_good_is_no_cause_where_another_criterion_lost() -> None:
    asked = replace(QUIET, inputs={"task": "Name the colour. Answer in JSON."}, expected=None)
    tone = lost("tone", 0.2, 0.5, "It is rude.")
    assert classify(replace(asked, criteria=(tone,))).failure_type == "format-error"
    assert classify(replace(asked, criteria=(tone, lost("Format", 1.0, 0.5)))).failure_type == "wrong-output"


def test_long_texts_are_shown_from_shortly_before_where_they_differ() -> None:
    alike = (
        "All that stands in the terms of the house holds as before, and nothing of it was changed by us this year. " * 3
    )
    said = classify(
        replace(QUIET, text=f"{alike}You have 14 days.", expected={"output": f"{alike}You have 30 days."})
    ).description
    assert "You have 30 days.”, got “…" in said
    assert said.endswith("You have 14 days.”.")
    assert told_apart(["same" * 90, "same" * 90], 50) == ["same" * 90] * 2


def test_at_most_twelve_signals_are_kept_each_short_and_once() -> None:
    many = (
        " ".join(f"It cost ${place}." for place in range(100, 200))
        + " It cost $100. See https://x.example/"
        + "y" * 300
    )
    signals = classify(saying(many, replace(QUIET, inputs={"context": "It cost $5."}))).signals
    assert len(signals) == 12
    assert len(set(signals)) == 12
    assert all(len(signal) <= 140 for signal in signals)


# ------------------------------------------------------------------ timeout and refusal


def test_an_agent_error_about_time_is_a_timeout_and_surely_so_only_where_nothing_came() -> None:
    silent = classify(replace(QUIET, output={}, text="{}", agent_error="ReadTimeout"))
    assert (silent.failure_type, silent.sure) == ("timeout", True)
    beside = classify(replace(QUIET, agent_error="ReadTimeout"))
    assert (beside.failure_type, beside.sure) == ("timeout", False)
    assert classify(replace(QUIET, timed_out=True)).confidence == 1.0


def test_a_refusing_text_is_not_the_failure_where_a_refusal_was_expected() -> None:
    refusing = saying("I can't help with that.")
    assert classify(refusing).failure_type == "refusal"
    wanted = classify(replace(refusing, expected={"output": "I can't help with that. Call a locksmith."}))
    assert (wanted.failure_type, wanted.sure) == ("wrong-output", False)


def test_a_stop_reason_is_enough_for_a_refusal() -> None:
    analysis = classify(replace(QUIET, stop_reason="SAFETY"))
    assert (analysis.failure_type, analysis.signals[0]) == ("refusal", "stop reason: safety")


def test_a_refusing_sentence_in_the_middle_makes_the_rules_unsure() -> None:
    text = "Red is warm. Blue is cold. I can't help with the last one. Green is calm. Grey is quiet."
    analysis = classify(saying(text))
    assert (analysis.failure_type, analysis.sure) == ("wrong-output", False)
    assert analysis.signals[0].startswith("refusing sentence: ")


# ------------------------------------------------------------------ format


@settings(max_examples=40)
@given(text=st.text(), context=st.text(), expected=st.text(min_size=1), wants_json=st.booleans())
def test_no_text_raises_and_every_figure_is_in_its_range(
    text: str, context: str, expected: str, wants_json: bool
) -> None:
    base = replace(
        QUIET, inputs={"context": context}, expected={"output": expected}, wants_json=wants_json, has_log=True
    )
    calls = (ToolCall(tool="t", arguments={"a": text}, result=context), ToolCall(tool="t", error=text))
    analysis = classify(saying(text, replace(base, tool_calls=calls)))
    assert 0 <= analysis.confidence <= 1
    assert len(analysis.signals) <= 12
    assert analysis.root_cause


@pytest.mark.parametrize(
    "piece", ["a", "1", "1 ", '"', '"abc def ', "Aa Bb ", "a-", "a.a@", "[", '{"a":', "I have sent ", "\n"]
)
def test_a_megabyte_takes_no_more_than_its_length_in_time(piece: str) -> None:
    def took(characters: int) -> float:
        huge = saying(
            (piece * characters)[:characters],
            replace(QUIET, inputs={"context": "5 days"}, wants_json=True, has_log=True),
        )
        began = time.process_time()
        classify(huge)
        return time.process_time() - began

    took(1000)  # what is made once is made
    assert took(MILLION) <= 30 * max(
        took(MILLION // 10), 0.01
    )  # ten times the text; what grows as its square takes a hundred


# ------------------------------------------------------------------ limits, checks of the form, contradictions


@pytest.mark.parametrize(
    ("stop", "error", "text"),
    [
        ("max_turns", None, "I go on with page 3."),
        ("max_iterations", None, "not done"),
        (None, "MaxTurnsExceeded: Max turns (10) exceeded", "Let me look again."),
        (None, "Zeitüberschreitung nach 60 Sekunden", ""),
        (None, "Délai d'attente dépassé", ""),
        (None, None, "Agent stopped due to iteration limit or time limit."),
        (None, None, "Stopped after 15 iterations without a final answer."),
    ],
)
def test_a_limit_of_time_turns_or_steps_is_a_timeout(stop: str | None, error: str | None, text: str) -> None:
    failed = replace(saying(text), stop_reason=stop, agent_error=error)
    assert classify(failed if text else replace(failed, output={})).failure_type == "timeout"


def test_a_last_call_that_took_too_long_is_a_timeout_where_nothing_came_or_the_answer_says_so() -> None:
    slow = ToolCall(tool="look", error="408 Request Timeout")
    assert classify(logged(slow, text="")).failure_type == "timeout"
    assert classify(logged(slow, text="The service did not respond in time.")).failure_type == "timeout"
    assert classify(logged(slow, text="It is green.")).failure_type == "wrong-output"


@pytest.mark.parametrize(("by_rule", "failure_type"), [(False, "timeout"), (True, "wrong-output")])
def test_a_rule_that_names_a_limit_gives_no_opinion_as_a_judge_does(*, by_rule: bool, failure_type: str) -> None:
    said = "The agent stopped after it had reached its limit of 10 turns."
    criterion = FailedCriterion("c", "right", 0.0, 1.0, said, by_rule)
    assert classify(replace(QUIET, criteria=(criterion,))).failure_type == failure_type
