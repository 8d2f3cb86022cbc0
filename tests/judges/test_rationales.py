"""Rationales that explain nothing are told from those that do."""

from __future__ import annotations

import pytest

from minions_evals_mcp.judges.rationales import weakness


@pytest.mark.parametrize("rationale", [".", "ok", "Good.", "very kind", "1.0", "好", "…"])
def test_fewer_than_three_words_explain_nothing(rationale: str) -> None:
    assert "at least 3 words" in weakness(rationale)


@pytest.mark.parametrize(
    "rationale", ["It is correct.", "The output passes", "PASS: score 1 of 1", "the answer is wrong", "1 of 1"]
)
def test_the_verdict_again_explains_nothing(rationale: str) -> None:
    assert "only repeats the verdict" in weakness(rationale)


@pytest.mark.parametrize(
    "rationale",
    [
        "It names Paris.",
        "“Dear” is warm.",
        "The score is low since no date is given",
        "回答提到了退款日期",
        "Elle cite la loi.",
    ],
)
def test_what_names_something_in_the_output_is_a_rationale(rationale: str) -> None:
    assert weakness(rationale) == ""
