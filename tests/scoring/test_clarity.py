"""How easily an answer reads: Flesch's figures for known sentences, and where there is none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.scoring.clarity import clarity


def test_a_known_sentence_has_the_reading_ease_that_is_known_of_it() -> None:
    sentence = "This sentence, taken as a reading passage unto itself, is being used to prove a point."
    assert clarity(sentence) == pytest.approx(0.69, abs=0.005), "16 words, 24 syllables: 69"
    assert clarity("The cat sat on the mat.") == 1.0, "116, more than the scale has"


def test_short_sentences_and_words_read_more_easily() -> None:
    plain = clarity("We can not refund this. You used it for a week. You may swap it for a new one.")
    stilted = clarity(
        "Reimbursement cannot be authorised notwithstanding contractual obligations, considering demonstrable utilisation "
        "throughout approximately seven consecutive days, although substitution remains conceivable."
    )
    assert plain is not None
    assert stilted is not None
    assert plain > 0.9
    assert stilted == 0.0


def test_the_points_of_a_list_are_sentences() -> None:
    listed = clarity("To return it:\n- keep the receipt and the box\n- pack all of it well\n- send it back to us")
    run_on = clarity("To return it keep the receipt and the box pack all of it well send it back to us")
    assert listed is not None
    assert run_on is not None
    assert listed > run_on


def test_prose_around_code_is_measured_without_the_code() -> None:
    prose = "You add the two numbers and print what comes out."
    assert clarity(f"{prose}\n```python\nimport antidisestablishmentarianism as x\n```") == clarity(prose)


@pytest.mark.parametrize(
    "output",
    [
        '{"answer": "a text that is long enough to be measured if it were no JSON"}',
        "```python\nprint('five words and a few more of them')\n```",
        "def total(prices):\n    found = sum(prices)\n    return found * 1.19\n\nprint(total([1, 2]))",
        "SELECT name, city FROM customers WHERE id = 7;",
        "<ul>\n<li>one of two</li>\n<li>the other one</li>\n</ul>",
        "positive",
        "",
        "42 42 42 42 42 42",
        "この商品は返品できません。 それは 一週間 使われて いました 申し訳 ありません",
    ],
)
def test_json_code_and_what_has_no_sentences_have_no_clarity(output: str) -> None:
    assert clarity(output) is None


@given(st.text(max_size=300))
def test_any_text_has_a_clarity_from_0_to_1_or_none(output: str) -> None:
    found = clarity(output)
    assert found is None or 0 <= found <= 1


@pytest.mark.parametrize("piece", [".", "\n ", "a", "-a", ";", "<a ", "\n1", "``` ", "a.a", "if ", "a b c d e f\n"])
def test_no_text_takes_long(piece: str) -> None:
    def took(characters: int) -> float:
        began = time.process_time()
        clarity("a b c d e " + piece * (characters // len(piece)) + "x")
        return time.process_time() - began

    took(1000)  # what is made once is made
    assert took(100_000) <= 30 * max(took(10_000), 0.01)  # ten times the text; what grows as its square takes a hundred
