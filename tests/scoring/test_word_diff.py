"""Two texts word by word."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.domain.results import DiffPart
from minions_evals_mcp.scoring.word_diff import LONGEST, word_diff

TEXTS = st.text(alphabet="ab ,\n.\u202eé") | st.lists(st.sampled_from(["a ", "b", ", ", "word", "\n"])).map("".join)


def told(before: str, after: str) -> str:
    marks = {"equal": "{}", "delete": "[-{}-]", "insert": "{{+{}+}}"}
    return "".join(marks[part.op].format(part.text) for part in word_diff(before, after))


@given(TEXTS, TEXTS)
def test_both_texts_can_be_made_again_from_the_stretches(before: str, after: str) -> None:
    parts = word_diff(before, after)
    assert "".join(part.text for part in parts if part.op != "insert") == before
    assert "".join(part.text for part in parts if part.op != "delete") == after
    assert all(part.text for part in parts)
    assert all(one.op != other.op for one, other in pairwise(parts))


@given(TEXTS)
def test_a_text_beside_itself_has_no_change(text: str) -> None:
    assert word_diff(text, text) == ((DiffPart(op="equal", text=text),) if text else ())


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("It is on its way.", "It was on its way.", "It [-is-]{+was+} on its way."),
        ("paid in 5 days", "paid", "paid[- in 5 days-]"),
        ("", "new text", "{+new text+}"),
        ("one two. three", "four five. six", "[-one two. three-]{+four five. six+}"),
        ("refund: yes", "refunds: yes", "[-refund-]{+refunds+}: yes"),
    ],
)
def test_whole_words_change_and_a_change_goes_on_over_spaces(before: str, after: str, shown: str) -> None:
    assert told(before, after) == shown


def test_texts_without_end_are_compared_where_they_differ_and_what_lies_beyond_is_one_change() -> None:
    same = "word " * 100_000
    assert [part.op for part in word_diff(same + "a" + same, same + "b" + same)] == [
        "equal",
        "delete",
        "insert",
        "equal",
    ]
    before, after = (" ".join(f"{letter}{n}" for n in range(3 * LONGEST)) for letter in "xy")
    assert [part.op for part in word_diff(before, after)] == ["delete", "insert"]
