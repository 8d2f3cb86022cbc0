"""A page's sentences have minus signs and days in words; what only looks like a number stays."""

from __future__ import annotations

import pytest

from minions_evals_mcp.presentation.typeset import p_words, typeset


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("score -0.500 (95 % CI -0.746 to -0.136)", "score −0.500 (95 % CI −0.746 to −0.136)"),
        ("the level fell by 0.277 on 2026-12-07;", "the level fell by 0.277 on 7 Dec 2026;"),
        ("support-2, gpt-4o, A-1009 and v1.-2", "support-2, gpt-4o, A-1009 and v1.-2"),
        ("2026-13-40, 2026-12-07T09:00Z", "2026-13-40, 2026-12-07T09:00Z"),
    ],
)
def test_only_negative_numbers_and_days_are_set(text: str, shown: str) -> None:
    assert typeset(text) == shown
    assert typeset(shown) == shown


@pytest.mark.parametrize(("value", "words"), [(3.5e-6, "p < 0.001"), (0.031, "p = 0.031"), (1.0, "p = 1")])
def test_a_p_value_has_no_exponent(value: float, words: str) -> None:
    assert p_words(value) == words
