"""Every text that a user meets is short, plain and in the terms of the field."""

from __future__ import annotations

import re

import pytest

from tests.language.banned import ALLOWED_IN_DEVELOPMENT, PHRASES
from tests.language.measures import MAX_PARAGRAPH, figures
from tests.language.surfaces import help_parts, met, pages

PAGES = pages()
EXEMPT: tuple[str, ...] = ()
"""Pages that are still to be rewritten."""
PENDING: tuple[str, ...] = ()
"""Phrases that are still to be replaced."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_short_paragraphs_and_few_semicolons(name: str) -> None:
    assert bool(figures(PAGES[name]).faults()) == (name in EXEMPT), figures(PAGES[name])


def test_help_has_short_paragraphs_and_few_semicolons() -> None:
    parts = help_parts()
    assert figures("\n\n".join(parts), parts).paragraph <= MAX_PARAGRAPH


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: str(getattr(phrase, "pattern", "")))
def test_nothing_that_a_user_meets_has_a_phrase_to_guess(phrase: re.Pattern[str]) -> None:
    skipped = "docs/development/" if phrase.pattern in ALLOWED_IN_DEVELOPMENT else "\0"
    places = [where for where, text in met() if phrase.search(text) and not where.startswith(skipped)]
    assert bool(places) == (phrase.pattern in PENDING), (f"write: {PHRASES[phrase]}", places)
