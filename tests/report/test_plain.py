"""Advice within a stored text is shown in words, and text from outside that looks like it does no harm."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest

from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.report.plain import printable, sentence_case

ROOT = Path(__file__).parents[2] / "minions_evals_mcp"


def test_advice_in_a_stored_reason_is_shown_in_words() -> None:
    reason = f"stopped: {Next('runs', {'run_id': 'r1'}, 'shows it')}, or use another {argument('key')}."
    assert printable(reason) == "stopped: runs (run_id=r1) shows it, or use another key."


@pytest.mark.parametrize(
    "inner", ["", "x", "a \ue002{", "a \ue002{}", "a \ue002[]\ue002 b", "a \ue002null\ue002 b\ue002 c"]
)
@pytest.mark.parametrize("sign", ["\ue000", "\ue001"])
def test_text_from_outside_that_looks_like_advice_is_shown_as_text(sign: str, inner: str) -> None:
    shown = printable(f"before {sign}{inner}\ue003 after")
    assert shown.isprintable()
    assert (shown.startswith("before "), shown.endswith(" after")) == (True, True)


TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""The bidirectional classes of characters that turn the direction of a text."""
ODD = "ab \n\t\r\x00\x1b\u202e\u200d\u2066é漢🫖\ud800\xa0\u2028"


@pytest.mark.parametrize("seed", range(200))
def test_a_text_is_shown_by_its_definition_character_by_character(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  draws texts, guards nothing
    signs = draw.choice(("abc ", "ab\n", ODD))
    text = "".join(draw.choice(signs) for _ in range(draw.randrange(120)))
    limit = draw.randrange(1, 60)
    head = text[: 4 * limit].translate({ord(sign): " " for sign in "\n\t\r"})
    kept = "".join(sign for sign in head if sign.isprintable() and unicodedata.bidirectional(sign) not in TURNING)
    kept = kept.replace("\u200e", "").replace("\u200f", "").replace("\u061c", "")
    whole = len(kept) <= limit and len(text) <= 4 * limit
    assert printable(text, limit) == (kept if whole else kept[: limit - 1] + "…")


def test_a_sentence_begins_with_a_capital_and_keeps_its_names() -> None:
    assert (
        sentence_case("more than noise (exact McNemar test, 95 % CI)")
        == "More than noise (exact McNemar test, 95 % CI)"
    )
    assert sentence_case("") == ""
    templates = [file for folder in ("report", "view") for file in (ROOT / folder).rglob("*.j2")]
    assert len(templates) > 30
    assert not [file for file in templates if "|capitalize" in file.read_text("utf-8")], (
        "it writes names in small letters"
    )
