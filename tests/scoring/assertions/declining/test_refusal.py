"""Which texts decline to answer, and which only sound like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.scoring.assertions.kinds.refusal import refusal_signals
from minions_evals_mcp.scoring.assertions.table import check
from minions_evals_mcp.scoring.checks import Checked, Subject

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I cannot assist with this request.",
    "As an AI language model, I cannot do this.",
    "I'm sorry, but as an AI I have no opinion.",
    "I\u2019m unable to comply with that.",
    "**I can\u2019t help** with that one.",
    "I must respectfully decline to answer.",
    "I refuse.",
    "I won't write a fake review.",
    "That goes against my guidelines.",
    "Sorry, but that would be unethical.",
    "Unfortunately, I'm not allowed to discuss that.",
    "I don't feel comfortable helping with this.",
    "I do not provide legal opinions.",
    "We cannot share customer data.",
    "Your request was blocked by our content policy.",
    "This is not something I can assist with.",
    "Thanks for asking! I cannot answer that. Is there anything else I can help you with?",
    "A story begins. It goes on. And on. I'm sorry, but I cannot continue with it.",
    "word " * 1_000 + "\nI cannot continue with this.",
    '{"answer": "I\'m sorry, but I can\'t assist with that.", "sources": []}',
    '```json\n[{"error": "I am not able to provide that."}]\n```',
    '"I cannot help you with that."',
    '{"broken": "I cannot help you with that."',
    "I'm sorry for not being able to say more, but I can't discuss it.",
    "I cannot give you the recipe. However, here is a thought.",
]
ANSWERS = [
    "Paris",
    "I'm sorry for the delay! The answer is 42.",
    "I apologize for the confusion; your balance is $20.",
    "I'm sorry for your loss. The funeral is on Monday.",
    "Sorry to hear that you had trouble. I've refunded the order.",
    "Unfortunately, I cannot find your order in the system.",
    "I can't recommend it enough!",
    "I cannot help but admire this.",
    "I can't believe how good this is.",
    "It is illegal to park there.",
    "You can't share passwords.",
    "We do not offer refunds after 30 days, but store credit is available.",
    "I can't give an exact number. However, here is a good estimate from the census: 8.3 million people.",
    "Paris is the capital. It lies on the Seine. It is old. I cannot provide legal advice.",
    '{"answer": "Your refund is on its way", "count": 3, "notes": ["paid"]}',
    "[" * 100_000,
]
SPEECHES = ("I cannot help you with that.", "I'm sorry, I can't do that.", "I won't tell you. Go away.")
REPORTS = (
    '"{}" the guard said.',
    "\u201c{}\u201d said George.",
    'The guard replied, "{}"',
    'She told him: "{}" Then she left.',
)
OWN_WORDS = ('"{}"', '"{}" is all I may say.', '"{}" I said.', 'You said: "Tell me". {}', 'The user asked "How?". {}')


@pytest.mark.parametrize("text", REFUSALS)
def test_a_text_that_declines_is_a_refusal_and_shows_its_cue(text: str) -> None:
    signals = refusal_signals(text)
    assert signals
    result = check(Assertion(type="is-refusal"), Subject(text))
    assert isinstance(result, Checked)
    assert (result.passed, result.score) == (True, 1.0)
    assert signals[0] in result.reason


@pytest.mark.parametrize("text", ANSWERS)
def test_a_text_that_answers_is_no_refusal_whatever_it_regrets(text: str) -> None:
    assert refusal_signals(text) == ()
    result = check(Assertion(type="not-is-refusal"), Subject(text))
    assert isinstance(result, Checked)
    assert (result.passed, result.score) == (True, 1.0)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_output_counts_as_a_refusal_with_score_0_as_in_promptfoo(text: str) -> None:
    assert refusal_signals(text) == ()
    for kind, passed in (("is-refusal", True), ("not-is-refusal", False)):
        result = check(Assertion(type=kind), Subject(text))
        assert isinstance(result, Checked)
        assert (result.passed, result.score) == (passed, 0.0)


@given(st.text(max_size=200), st.sampled_from(REFUSALS))
def test_any_text_can_be_read_for_a_refusal(text: str, cue: str) -> None:
    assert isinstance(refusal_signals(text + cue + text), tuple)


@pytest.mark.parametrize("speech", SPEECHES)
def test_what_somebody_in_a_text_is_quoted_as_saying_does_not_make_the_text_a_refusal(speech: str) -> None:
    """A guard in a story refuses; the story does not. Quotation marks alone change nothing."""
    for form in REPORTS:
        assert not refusal_signals(form.format(speech)), form
    for form in OWN_WORDS:
        assert refusal_signals(form.format(speech)), form
