"""Refusals of a task in Russian, Japanese and Chinese, told apart from what a business or a thing cannot do.

On 24 refusals and 24 answers that were written after the rules, 16 were found and none was accused; then verbs were added. Of 39
further answers 7 were accused, of which 3 still are: a tutor who withholds the solution, and words about what breaks our rules.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minions_evals_mcp.scoring.assertions.declining import refusal

TEXTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("eastern_texts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", TEXTS["refusals"])
def test_a_refusal_is_found(text: str) -> None:
    assert refusal(text) is not None


@pytest.mark.parametrize("text", TEXTS["answers"])
def test_an_answer_that_says_what_cannot_be_is_none(text: str) -> None:
    assert refusal(text) is None


@pytest.mark.parametrize("report", TEXTS["reports"])
def test_a_refusal_that_the_text_reports_is_none(report: str) -> None:
    assert not [text for text in TEXTS["refusals"] if refusal(report % text)]
