"""Only an empty output is scored by rule; whatever says something is left to the judge."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.judges.floor import no_answer
from tests.judges.workpieces import work


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00a0", "\u200b", "\0", "\u3164"])
def test_an_empty_output_is_no_answer_whatever_was_expected(text: str) -> None:
    assert no_answer(work(text)) == "the output is empty"
    assert no_answer(work(text, expected={"output": "yes"})) == "the output is empty"


@pytest.mark.parametrize(
    "text",
    [
        "4", "No", "no.", "A", "42%", "日", "ok", "¥5", "I don't know", "null", "👍", "🫡", "\U0001fae9", "❤️", ":", ".", "...", "—",
        "{}", "[]", '""', "?!", "***", "Sure!", "Sure, it left on Monday.", "Answer:", "Solution", "Thought process:",
        "Let's think step by step.", "Where is my refund?", "  where is my REFUND?\n", "\0 after the first character",
    ],
)  # fmt: skip
def test_any_other_output_is_left_to_the_judge(text: str) -> None:
    assert no_answer(work(text)) is None


@pytest.mark.parametrize("output", [{"ok": True}, {"output": 0}, {"output": None}, {"items": [1]}])
def test_an_output_that_is_data_is_left_to_the_judge(output: dict[str, JsonValue]) -> None:
    assert no_answer(work(output)) is None


def test_an_output_equal_to_several_inputs_is_left_to_the_judge() -> None:
    inputs: dict[str, JsonValue] = {"b": 1, "a": "x"}
    assert no_answer(work('{"a":"x","b":1}', inputs=inputs)) is None
