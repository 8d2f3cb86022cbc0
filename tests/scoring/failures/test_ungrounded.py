"""What counts as said without support: contexts, numbers, claims of deeds, sources turned round."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failures.given import has_context
from tests.scoring.failures.failed_outputs import QUIET, logged, saying

NO_CONTEXT: tuple[Json, ...] = ({}, {"context": ""}, {"sources": [None, {}]}, {"question": ["context"]})


@pytest.mark.parametrize(
    "inputs",
    [{"Context": "x"}, {"vars": [{"retrieved": {"page": ["", "text"]}}]}, {"documents": [{"n": 0}]}],
)
def test_a_context_is_found_at_any_depth_and_in_any_case(inputs: Json) -> None:
    assert has_context(inputs)


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


DOCSTRING = '''def mean(values):
    """Arithmetic mean of at least 2 values, as described by Karl Pearson in 1895.

    >>> mean([3, 17])
    10.0
    """
    if len(values) < 2:
        raise ValueError("needs 2 values")
    return sum(values) / len(values)
'''
BARE_CODE = """const limit = 42;
function clamp(value) {
  // Ada Lovelace wrote this on 3 May 2024
  return Math.min(value, limit);
}"""
SECTIONS = """The document has these parts:
1. Scope
1.1 Terms
1.2 Parties
2. Payment
2.1 Dates
They are 1.1, 1.2, 2.1, 2.2 and 3."""


@pytest.mark.parametrize("text", [DOCSTRING, BARE_CODE, SECTIONS, f"{DOCSTRING}\n\n{DOCSTRING}"])
def test_code_its_comments_and_the_numbers_of_sections_state_nothing(text: str) -> None:
    failed = saying(
        text, replace(QUIET, inputs={"context": "The document has parts: scope, terms, parties, payment, dates."})
    )
    assert classify(failed).failure_type == "wrong-output", classify(failed).signals


def test_a_number_beside_code_and_sections_is_still_looked_up() -> None:
    failed = saying(
        f"{SECTIONS}\nThe fee is 75 euros.", replace(QUIET, inputs={"context": "The parts: scope, payment."})
    )
    assert classify(failed).failure_type == "hallucination"
    assert "number: 75 euros" in classify(failed).signals
