"""The page's own comparison of two texts, beside the one that it must agree with."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import quickjs
from hypothesis import given
from hypothesis import strategies as st

import minions_evals_mcp.report as package
from minions_evals_mcp.scoring.word_diff import LONGEST, stretches

TEXTS = st.text(alphabet="ab ,\n.\u202eé_٣") | st.lists(st.sampled_from(["a ", "b", ", ", "word", "\n", "é. "])).map(
    "".join
)
SCRIPT = Path(package.__file__).with_name("templates").joinpath("word_diff.js").read_text("utf-8")


def in_the_page(before: str, after: str) -> list[tuple[str, str]]:
    engine = cast("Any", quickjs.Context())  # pyright: ignore[reportUnknownMemberType]  it has no types
    engine.eval(SCRIPT)
    told: str = engine.eval(f"JSON.stringify(wordDiff({json.dumps(before)}, {json.dumps(after)}))")
    return [(op, text) for op, text in json.loads(told)]


@given(TEXTS, TEXTS)
def test_both_texts_can_be_made_again_from_the_stretches(before: str, after: str) -> None:
    parts = in_the_page(before, after)
    assert "".join(text for op, text in parts if op != "insert") == before
    assert "".join(text for op, text in parts if op != "delete") == after
    assert all(text for _, text in parts)
    assert all(one[0] != other[0] for one, other in pairwise(parts))


@given(st.text(alphabet="xyz", min_size=1), st.text(alphabet="xyz", min_size=1), TEXTS, TEXTS)
def test_one_change_is_told_as_everywhere_else(old: str, new: str, head: str, tail: str) -> None:
    before, after = f"{head} {old} {tail}", f"{head} {new} {tail}"
    assert in_the_page(before, after) == list(stretches(before, after))


def test_a_change_goes_on_over_a_stop_and_not_over_a_word() -> None:
    for before, after in (
        ("It is on its way.", "It was on its way."),
        ("paid in 5 days", "paid"),
        ("one, two; three four", "1, 2; three 4"),
        ("", "new"),
        ("same", "same"),
        ("", ""),
    ):
        assert in_the_page(before, after) == list(stretches(before, after))


def test_long_texts_end_in_one_change() -> None:
    before = " ".join(f"x{number}" for number in range(LONGEST))
    assert in_the_page(before, "y") == [("delete", before), ("insert", "y")]
