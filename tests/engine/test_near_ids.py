"""An id that is not there is refused with those that may have been meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.engine.near_ids import near_ids

KNOWN = [
    "support/refund",
    "support/return",
    "support/greeting",
    "billing/refund",
    "3f1c9a52-4c1d-4f0e-8d0a-5b1e3f8f5a10",
]


@pytest.mark.parametrize(
    ("given_id", "near"),
    [
        ("suport/refnd", ["support/refund"]),
        ("SUPPORT/REFUND", ["support/refund"]),
        ("refund", ["support/refund", "billing/refund"]),
        ("support/retun", ["support/return", "support/refund"]),
        ("", []),
        ("9b7d0c44-1111-4222-9333-aaaabbbbcccc", []),
        ("weather", []),
    ],
)
def test_a_slip_or_a_missing_folder_finds_the_id_and_a_stranger_finds_none(given_id: str, near: list[str]) -> None:
    assert near_ids(given_id, KNOWN) == near


def test_an_id_of_one_letter_is_like_no_other() -> None:
    assert near_ids("c", ["b", "d", "ab"]) == []
    assert near_ids("cc", ["c", "dd"]) == ["c"]


@given(st.text(max_size=40), st.lists(st.text(max_size=40), unique=True, max_size=20))
def test_at_most_three_known_ids_are_named_each_once_and_never_the_given_one(given_id: str, known: list[str]) -> None:
    near = near_ids(given_id, known)
    assert len(near) <= 3
    assert len(set(near)) == len(near)
    assert set(near) <= set(known) - {given_id}
