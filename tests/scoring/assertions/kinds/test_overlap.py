"""ROUGE-N, BLEU and GLEU: numbers worked out by hand, empty sides, several references, thresholds on `not-`."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.overlap import (
    bleu_score,
    gleu_score,
    rouge_score,
    treebank_words,
    words,
)
from minions_evals_mcp.scoring.assertions.table import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked

KINDS = ("rouge-n", "bleu", "gleu")
TEXTS = st.one_of(
    st.text(max_size=40), st.lists(st.sampled_from(["a", "b", "the", "cat.", '"', "''", "``"])).map(" ".join)
)


def outcome(kind: str, value: JsonValue, output: str, threshold: float | None = None) -> Checked:
    """The verdict of a vetted assertion that can be checked."""
    assertion = Assertion(type=kind, value=value, threshold=threshold)
    vet(assertion)
    found = check(assertion, Subject(output))
    assert isinstance(found, Checked)
    return found


def test_rouge_counts_each_shared_word_as_often_as_both_have_it() -> None:
    assert rouge_score("the the cat", ["the dog sat"]) == pytest.approx(1 / 3)
    assert rouge_score("The CAT", ["the cat"]) == 1
    assert rouge_score("the cat sat", ["the cat"]) == pytest.approx(2 * (2 / 3) / (5 / 3))


def test_bleu_is_the_mean_precision_with_a_penalty_for_brevity() -> None:
    assert bleu_score("a b c d", ["a b c d"]) == 1
    assert bleu_score("a b", ["a b c d"]) == pytest.approx(exp(-1))
    assert bleu_score("a b c d e", ["a b c d"]) == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert bleu_score("x", ["a"]) == pytest.approx(1e-7)
    assert bleu_score("a", ["b b b", "a", "a a"]) == 1


def test_gleu_is_the_smaller_of_precision_and_recall() -> None:
    assert gleu_score("a b.", ["A b"]) == 1
    assert gleu_score("a b c", ["a b"]) == pytest.approx(3 / 6)
    assert gleu_score("a", ["b", "a b"]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("score", [rouge_score, bleu_score, gleu_score])
@pytest.mark.parametrize("empty", ["", "  \n"])
def test_an_empty_output_scores_0(score: type[object], empty: str) -> None:
    assert score(empty, ["a"]) == 0  # pyright: ignore[reportCallIssue]  three functions of one shape


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("It's John's.", "It 's John 's ."),
        ("can't they'll cannot gonna", "ca n't they 'll can not gon na"),
        ('He said "hi" now.', "He said `` hi '' now ."),
        ("x ``a'' ''b'' c", "x `` a '' `` b '' c"),
        ('a. "b', "a. `` b"),
        ('(a)"', "( a ) ''"),
        ('what?" x', "what ? '' x"),
        ("1,000 a,b 3:4 c:d", "1,000 a , b 3:4 c : d"),
        ("e.g. the U.S.", "e.g. the U.S."),
        ("wait... no--yes; $5 100%", "wait ... no -- yes ; $ 5 100 %"),
        ("'tis", "'t is"),
        ("'T\u0131s 'T\u0130S", "'T \u0131s 'T \u0130S"),
        ("It ends.)] ", "It ends . ) ]"),
        (
            "A very long sentence of many words that ends with a stop.'",
            "A very long sentence of many words that ends with a stop . '",
        ),
        ('x"y', "x '' y"),
        ('``"a', "`` '' a"),
    ],
)
def test_words_are_parted_as_in_the_penn_treebank(text: str, parts: str | list[str]) -> None:
    assert treebank_words(text) == (parts.split() if isinstance(parts, str) else parts)


def test_words_are_what_stands_between_javascript_s_white_space() -> None:
    assert words(" A\u00a0b\ufeffC\x1cd ") == ["a", "b", "c\x1cd"]
    assert words("") == [""]


def test_a_threshold_counts_on_the_score_before_not_turns_it_round() -> None:
    passed, failed = outcome("not-bleu", "a b c d", "a b", 0.4), outcome("not-bleu", "a b c d", "a b", 0.3)
    assert (passed.passed, failed.passed) == (True, False)
    assert passed.score == failed.score == pytest.approx(1 - exp(-1))


def test_the_defaults_are_promptfoo_s() -> None:
    assert outcome("rouge-n", "a b c", "a b c d").reason == "ROUGE-N 0.8571, threshold 0.75"
    assert outcome("bleu", "a", "a").reason == "BLEU 1.0000, threshold 0.5"
    assert outcome("gleu", ["a"], "a").reason == "GLEU 1.0000, threshold 0.5"


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_is_its_text(kind: str) -> None:
    assert outcome(kind, 5, "5").score == 1


@pytest.mark.parametrize(("kind", "value"), [("rouge-n", ["a"]), ("rouge-n", None), ("bleu", []), ("gleu", [True])])
def test_a_value_that_is_no_reference_is_refused(kind: str, value: JsonValue) -> None:
    with pytest.raises(InvalidRecordError):
        vet(Assertion(type=kind, value=value))


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_a_million_characters_are_not_compared(kind: str) -> None:
    assert isinstance(check(Assertion(type=kind, value="a"), Subject("a" * 1_000_001)), Unchecked)
    with pytest.raises(InvalidRecordError):
        vet(Assertion(type=kind, value="a" * 1_000_001))


@given(st.sampled_from(KINDS), TEXTS, TEXTS, st.floats(0, 1))
def test_nothing_raises_and_not_inverts(kind: str, value: str, output: str, threshold: float) -> None:
    plain, turned = outcome(kind, value, output, threshold), outcome(f"not-{kind}", value, output, threshold)
    assert plain.passed is not turned.passed
    assert 0 <= plain.score <= 1 + 1e-12
    assert plain.score + turned.score == pytest.approx(1)


@given(TEXTS.filter(str.strip))
def test_a_text_is_its_own_best_match(text: str) -> None:
    assert bleu_score(text, [text]) == pytest.approx(1) or not words(text)[0]
    assert gleu_score(text, [text]) == 1 or not words(text)[0]


UNSPACED = ("一個句子在這裡", "これはペンです", "นี่คือประโยค", "ខ្ញុំស្រឡាញ់អ្នក")


@pytest.mark.parametrize("kind", [*KINDS, "word-count"])
@pytest.mark.parametrize("text", UNSPACED)
def test_counting_words_of_a_script_without_spaces_is_warned_of(kind: str, text: str) -> None:
    found = outcome(kind, 1 if kind == "word-count" else text, text + "!")
    assert "this script has none" in found.reason
    spaced = outcome(kind, 2 if kind == "word-count" else "東京 город", "東京 город")
    assert "careful" not in spaced.reason
