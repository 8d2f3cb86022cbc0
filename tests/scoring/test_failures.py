"""What the classes, the severity, the evidence and the root cause rest on."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.classification import classify
from minions_evals_mcp.scoring.failures import FailedCriterion, FailedOutput
from minions_evals_mcp.scoring.failures.given import has_context

QUIET = FailedOutput(
    output={"output": "blue"},
    text="blue",
    inputs={"question": "Which colour?"},
    expected={"output": "green"},
    tool_calls=(),
    has_log=False,
    timed_out=False,
    stop_reason=None,
    wants_json=False,
    agent_error=None,
    score_fraction=0.5,
    criteria=(),
)


def saying(text: str, base: FailedOutput = QUIET) -> FailedOutput:
    """The same failure with another output."""
    return replace(base, text=text, output={"output": text})


def logged(
    *calls: ToolCall, text: str = "blue", inputs: Json | None = None, expected: Json | None = None
) -> FailedOutput:
    """A failure with a log."""
    base = replace(QUIET, tool_calls=calls, has_log=True, inputs=inputs or QUIET.inputs, expected=expected)
    return saying(text, base)


def lost(name: str, fraction: float, weight: float, rationale: str = "not good") -> FailedCriterion:
    """One criterion's part."""
    return FailedCriterion(f"id-{name}", name, fraction, weight, rationale)


# ------------------------------------------------------------------ order, severity, what is kept


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


def test_the_description_says_what_was_expected_what_came_and_what_was_lost() -> None:
    said = classify(replace(QUIET, criteria=(lost("facts", 0.25, 0.5, "Blue is wrong."),))).description
    assert said == "Expected “green”, got “blue”. Lost most on facts (0.25 of 1, weight 0.5): Blue is wrong."
    assert classify(replace(QUIET, output={}, text="{}", expected=None)).description == "Nothing came."


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


@pytest.mark.parametrize(
    ("text", "expected", "signal"),
    [
        ('{"a": 1,}', None, "json: "),
        ("```json\n{'a': 1}\n```", None, "json: Expecting property name"),
        ('Here: {"a": 1}', None, "json: words around the JSON"),
        ("Here: {a: 1}", None, "json: Expecting value at character 0"),
        ("a is 1", None, "json: words instead of JSON"),
        ("", None, "json: JSON was wanted and nothing came"),
        ('{"a": NaN}', None, "json: NaN is not JSON"),
        ("x" + "[" * 100_000, None, "json: Expecting value"),
        ("[" * 100_000, None, "json: nested too deeply"),
        ("[1]", {"output": '{"a": 1}'}, "schema: the value is array, not object"),
        ('{"a": {"b": "1"}}', {"output": {"a": {"b": 1}}}, "schema: a.b is string, not number"),
        ('{"a": 1}', {"output": {"a": 2, "b": None}}, "schema: key 'b' is missing"),
        ('{"a": true}', {"output": {"a": 1}}, "schema: a is boolean, not number"),
    ],
)
def test_a_broken_form_is_a_format_error_that_names_its_fault(text: str, expected: Json | None, signal: str) -> None:
    analysis = classify(saying(text, replace(QUIET, wants_json=True, expected=expected)))
    assert analysis.failure_type == "format-error"
    assert analysis.signals[0].startswith(signal)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"output": '```json\n{"a": 2}\n```'}, {"output": '{"a": 1}'}),
        ({"output": '{"a": 1.5, "b": null}'}, {"output": {"a": 1, "b": "x"}}),
        ({"output": '{"a": 1, "more": 2}'}, {"output": {"a": 2}}),
        ({"output": '{"a": 1}'}, {"output": "as you like"}),
        ({"label": "ham", "share": 0.2}, {"label": "spam", "share": 0.2}),
    ],
)
def test_sound_json_of_the_right_shape_is_no_format_error(output: Json, expected: Json) -> None:
    text = str(output.get("output") or output["label"])
    assert (
        classify(replace(QUIET, output=output, text=text, expected=expected, wants_json=True)).failure_type
        == "wrong-output"
    )


def test_an_agent_that_failed_for_another_reason_owes_no_json() -> None:
    silent = replace(QUIET, output={}, text="{}", wants_json=True, agent_error="KeyError: 'a'")
    assert classify(silent).failure_type == "wrong-output"
    assert classify(replace(silent, agent_error="JSONDecodeError: line 1")).failure_type == "format-error"


def test_a_form_criterion_that_cost_the_most_is_a_format_error_by_rule_though_not_for_sure() -> None:
    form, facts = lost("output format", 0, 0.5), lost("facts", 0, 0.5)
    alone = classify(replace(QUIET, criteria=(form,)))
    assert (alone.failure_type, alone.sure) == ("format-error", False)
    assert classify(replace(QUIET, criteria=(form, facts))).failure_type == "wrong-output"
    assert classify(replace(QUIET, criteria=(lost("facts", 0, 1, "not valid XML"),))).failure_type == "format-error"


# ------------------------------------------------------------------ hallucination


@pytest.mark.parametrize(
    "inputs",
    [{"Context": "x"}, {"vars": [{"retrieved": {"page": ["", "text"]}}]}, {"documents": [{"n": 0}]}],
)
def test_a_context_is_found_at_any_depth_and_in_any_case(inputs: Json) -> None:
    assert has_context(inputs)


NO_CONTEXT: tuple[Json, ...] = ({}, {"context": ""}, {"sources": [None, {}]}, {"question": ["context"]})


@pytest.mark.parametrize("inputs", NO_CONTEXT)
def test_an_empty_context_is_none(inputs: Json) -> None:
    assert not has_context(inputs)


def test_without_a_context_and_without_calls_nothing_is_invented() -> None:
    text = "It cost $99 on 3 May 2024, says Robert Keller at https://x.example."
    assert classify(saying(text)).failure_type == "wrong-output"
    assert classify(saying(text, replace(QUIET, inputs={"context": "It was dear."}))).failure_type == "hallucination"


@pytest.mark.parametrize(
    ("said", "signal"),
    [
        ("The fee is 75 euros.", "number: 75 euros"),
        ("The fair has 9 halls.", "number: 9 halls…"),
        ("The fair begins on 2 May 2025.", "date: 2 May 2025"),
        ("The fair begins at 11:45.", "time: 11:45"),
        ("The fair is on Sunday.", "weekday: sunday"),
        ("The fair is held by Robert Keller.", "name: Robert Keller"),
        ("See https://other.example/fair", "link: https://other.example/fair"),
        ("The ticket is TK-20417.", "identifier: TK-20417"),
        (
            "They say “all are welcome here” and: “nobody will ever be turned away”",
            "quote: nobody will ever be turned away",
        ),
    ],
)
def test_what_the_context_does_not_say_is_a_hallucination(said: str, signal: str) -> None:
    context = "On Friday 5 May 2025 at 10:00 the fair of Amina Yusuf opens; all are welcome here. "
    context += "4 halls; 20 euros; TK-20416; https://fair.example."
    analysis = classify(saying(said, replace(QUIET, inputs={"context": context}, expected=None)))
    assert analysis.failure_type == "hallucination"
    assert signal in analysis.signals


def test_what_the_question_the_tools_or_the_expected_output_say_is_no_invention() -> None:
    call = ToolCall(tool="get_price", arguments={"sku": "AB-10442"}, result={"price": 12.5, "seller": "Lena Fischer"})
    text = "AB-10442 (https://x.example/a) costs $12.50 at Lena Fischer. Of 40 euros asked on 3 May 2024 3 halls."
    known = logged(
        call,
        text=text,
        inputs={"question": "Is 40 euros fair at x.example/a?"},
        expected={"output": "3 May 2024, 3 halls"},
    )
    assert classify(known).failure_type == "wrong-output"


@pytest.mark.parametrize("question", ["How many in total?", "What did both days bring?"])
def test_a_number_that_had_to_be_worked_out_is_an_error_and_no_invention(question: str) -> None:
    inputs: Json = {"question": question, "context": "120 on Friday, 185 on Saturday."}
    analysis = classify(saying("295", replace(QUIET, inputs=inputs, expected={"output": "305"})))
    assert (analysis.failure_type, analysis.sure) == ("wrong-output", False)


def test_a_claim_needs_a_call_that_can_have_done_it() -> None:
    done, failed = ToolCall(tool="issue_refund", result="ok"), ToolCall(tool="issue_refund", error="declined")
    assert classify(logged(done, text="I've refunded it.")).failure_type == "wrong-output"
    assert classify(logged(failed, text="I\u2019ve refunded it.")).failure_type == "hallucination"
    assert classify(logged(ToolCall(tool="execute"), text="We have cancelled it.")).failure_type == "wrong-output"
    assert classify(saying("I've refunded it.")).failure_type == "wrong-output"


def test_a_status_that_a_tool_reports_is_no_claim() -> None:
    told = ToolCall(tool="get_order", result={"status": "cancelled"})
    untold = ToolCall(tool="get_order", result={"status": "open"})
    assert classify(logged(told, text="It has been cancelled.")).failure_type == "wrong-output"
    assert classify(logged(untold, text="It has been cancelled.")).failure_type == "hallucination"


def test_a_look_up_is_claimed_in_vain_only_where_nothing_was_looked_at() -> None:
    text = "I checked our records, all is well."
    assert classify(logged(text=text)).failure_type == "hallucination"
    assert classify(logged(text=text, inputs={"context": "all is well in our records"})).failure_type == "wrong-output"
    assert classify(logged(ToolCall(tool="search", result=[]), text=text)).failure_type == "wrong-output"


# ------------------------------------------------------------------ any text


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


MILLION = 1_000_000


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


@pytest.mark.parametrize(
    "rationale",
    [
        "failed is-xml: mismatched tag",
        "passed icontains: contains 'a'; failed word-count: 30 words, at most 20",
        "failed starts-with: does not start with 'Dear'",
        "failed regex: does not match the pattern '^(YES|NO)$'",
        "failed is-json: '41' does not fit",
        "failed finish-reason: finish reason 'length', looked for 'stop'",
        "The reply is in the wrong format.",
    ],
)
def test_every_failed_check_of_the_form_is_a_format_error(rationale: str) -> None:
    failed = saying("It is what it is.", replace(QUIET, criteria=(lost("checks", 0, 1, rationale),)))
    assert classify(failed).failure_type == "format-error"


@pytest.mark.parametrize(
    "rationale",
    [
        "failed regex: does not match the pattern '[0-9]+ euros'",
        "failed icontains: does not contain 'is-json'",
        "failed not-contains: contains 'x'",
        "failed regex: does not match the pattern '^green$'",
    ],
)
def test_a_failed_check_of_the_content_is_no_format_error(rationale: str) -> None:
    failed = saying("blue", replace(QUIET, criteria=(lost("checks", 0, 1, rationale),)))
    assert classify(failed).failure_type == "wrong-output"


def test_a_key_that_was_expected_beside_others_is_missed() -> None:
    failed = replace(saying("Fine rooms"), expected={"summary": "Fine rooms", "mood": "glad"})
    assert classify(failed).failure_type == "format-error"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("Sales rose in May. No store was closed this year.", "Sales rose in May; a store was closed this year."),
        ("The drug was not approved in Europe.", "Yes, the drug was approved in Europe."),
        ("Brightwell was acquired by Tessaro.", "Brightwell acquired Tessaro."),
        ("Die Firma Nordlicht hat die Firma Seewind verklagt.", "Die Firma Seewind hat die Firma Nordlicht verklagt."),
        ("Le train part de la voie 4.", "Le train part de la voie 9."),
    ],
)
def test_what_turns_its_source_round_is_a_hallucination(source: str, said: str) -> None:
    base = replace(QUIET, inputs={"context": source, "question": "What happened?"}, expected=None)
    assert classify(saying(said, base)).failure_type == "hallucination"
    assert classify(saying(source, base)).failure_type == "wrong-output"


# ------------------------------------------------------------------ what a rule says, and what a judge says


@pytest.mark.parametrize(("by_rule", "failure_type"), [(False, "timeout"), (True, "wrong-output")])
def test_a_rule_that_names_a_limit_gives_no_opinion_as_a_judge_does(*, by_rule: bool, failure_type: str) -> None:
    said = "The agent stopped after it had reached its limit of 10 turns."
    criterion = FailedCriterion("c", "right", 0.0, 1.0, said, by_rule)
    assert classify(replace(QUIET, criteria=(criterion,))).failure_type == failure_type
