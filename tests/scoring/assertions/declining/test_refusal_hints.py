"""A text without a hint of a sign holds none: what is passed over could not have been a refusal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.scoring.assertions.declining.eastern import LANGUAGES
from minions_evals_mcp.scoring.assertions.declining.english import DECLINES, SIGNS
from minions_evals_mcp.scoring.assertions.declining.hints import holds_no_refusal, may_decline
from minions_evals_mcp.scoring.assertions.declining.spoken import sentences
from minions_evals_mcp.scoring.failures.timeouts import (
    _LIMIT,  # pyright: ignore[reportPrivateUsage]  the patterns themselves
    _TIME,  # pyright: ignore[reportPrivateUsage]
    ran_out,
)

CORE = [DECLINES, *(sign.pattern for sign in SIGNS if sign.core)]
FOREIGN = [sign for one in LANGUAGES for sign in (one.phrase, one.apology, one.regret, one.machine)]

ASCII = st.characters(max_codepoint=127)
"""What English is written in: the look ahead takes a word to end where RE2 does, which knows no other letters."""


@pytest.mark.parametrize("sign", [*CORE, *FOREIGN], ids=lambda sign: sign.pattern[:40])
def test_whatever_holds_a_sign_has_a_hint(sign: re.Pattern[str]) -> None:
    @settings(max_examples=25, deadline=None)
    @given(st.from_regex(sign.pattern, alphabet=ASCII if sign in CORE else None))
    def holds(text: str) -> None:
        assert may_decline(text)

    holds()


@pytest.mark.parametrize("sign", [*CORE, *FOREIGN], ids=lambda sign: sign.pattern[:40])
def test_no_text_with_a_sign_in_any_sentence_is_passed_over(sign: re.Pattern[str]) -> None:
    @settings(max_examples=15, deadline=None)
    @given(
        st.sampled_from(("", "Here it is. ", '{"output": "', "x\n> ", "Well.", '"So!" ', "é. ")),
        st.from_regex(sign.pattern, alphabet=ASCII if sign in CORE else None),
        st.sampled_from(("", ". There it is.", '"}', "\nx")),
    )
    def holds(before: str, text: str, after: str) -> None:
        whole = before + text + after
        parts = [whole, *re.findall(r"[^.!?\n]+", whole), text]
        if any(may_decline("\n".join(sentences(part.strip()))) for part in parts):
            assert not holds_no_refusal(whole)

    holds()


def test_what_somebody_cannot_do_has_a_hint_in_every_language() -> None:
    for sentence in (
        "ich kann ihnen das nicht sagen", "je ne peux pas vous aider", "no puedo ayudarte", "non posso aiutarti",
        "não posso ajudar",
    ):  # fmt: skip
        assert may_decline(sentence)


def test_a_plain_answer_has_none_whatever_its_letters() -> None:
    for text in ("the rollers were cleaned.\nthe tray holds heavier paper.", "", "été \ud800", "ticket 7 is resolved"):
        assert not may_decline(text)
        assert holds_no_refusal(text)


@settings(max_examples=150, deadline=None)
@given(st.one_of(*(st.from_regex(re.compile(one.pattern, one.flags)) for one in (_TIME, _LIMIT))))
def test_whatever_speaks_of_a_limit_is_looked_into(text: str) -> None:
    assert ran_out(text)
