"""Outputs that hold no answer are found by rule; short answers are left to the judge."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.judges.floor import no_answer
from tests.judges.workpieces import work


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00a0"])
def test_an_empty_output_is_no_answer(text: str) -> None:
    assert no_answer(work(text)) == "the output is empty"


@pytest.mark.parametrize("text", [":", ".", "...", "—", "{}", "[]", '""', "\u200b", "?!", "***", "👍"])
def test_an_output_without_a_letter_or_digit_is_no_answer(text: str) -> None:
    assert no_answer(work(text)) == "the output has no letter or digit"


@pytest.mark.parametrize(
    "text",
    [
        "Thought process:", "thought process", "Solution", "SOLUTION:", "Let's solve this problem step by step.",
        "Let’s think step by step:", " Let's think step by step… ", "Answer:", "**Answer:**", "## Solution", "Sure!", "Sure,",
    ],
)  # fmt: skip
def test_an_opener_with_nothing_after_it_is_no_answer(text: str) -> None:
    reason = no_answer(work(text))
    assert reason is not None
    assert reason.startswith("the output is only an opener: ")


@pytest.mark.parametrize("text", ["Where is my refund?", "  where is my REFUND?\n"])
def test_an_echo_of_the_question_is_no_answer(text: str) -> None:
    assert no_answer(work(text)) == "the output repeats the question"


def test_an_echo_of_inputs_with_several_keys_is_found_too() -> None:
    inputs: dict[str, JsonValue] = {"b": 1, "a": "x"}
    assert no_answer(work('{"a":"x","b":1}', inputs=inputs)) == "the output repeats the question"


@pytest.mark.parametrize(
    "text",
    [
        "4", "No", "no.", "A", "42%", "日", "ok", "¥5", "I don't know", "Sure, it left on Monday.", "Answer: 4",
        "Solution: restart it", "null", "Where is my refund? On its way.",
    ],
)  # fmt: skip
def test_a_short_answer_is_left_to_the_judge(text: str) -> None:
    assert no_answer(work(text)) is None


@pytest.mark.parametrize("output", [{"ok": True}, {"output": 0}, {"output": None}, {"items": [1]}])
def test_an_output_that_is_data_is_left_to_the_judge(output: dict[str, JsonValue]) -> None:
    assert no_answer(work(output)) is None


@pytest.mark.parametrize("text", ["Sure", "Answer", "👍", ":", "Where is my refund?", "solution:"])
def test_what_was_expected_is_an_answer_whatever_it_looks_like(text: str) -> None:
    assert no_answer(work(text)) is not None
    assert no_answer(work(text, expected={"output": text})) is None
    assert no_answer(work(text, expected={"output": "something else"})) is not None


def test_an_empty_output_is_no_answer_even_where_something_was_expected() -> None:
    assert no_answer(work("", expected={"output": "yes"})) == "the output is empty"
