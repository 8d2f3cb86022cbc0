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
PENDING = (
    r"more than chance would",
    r"which can be chance|can be chance",
    r"\bfor sure\b",
    r"measured alike|not alike",
    r"no room here for",
    r"judged are\b|read are\b",
    r"touch with a worker|time without company",
    r"columns of a config",
    r"than luck|luck does not",
    r"as the (?:gates|gate) holds?|the gates hold\b|gates may hold|that held\b",
    r"stands twice|comes twice",
    r"of no known form",
    r"is no NAME=VALUE",
    r"\bNot kept\b",
    r"go(?:es)? on with:",
    r"so many cases at once",
    r"how manyth|how sure one may|no model to ask|to be had\b",
    r"who speaks\b|at every door|every door\b",
    r"instrument failed|error of the instrument|errors of the instrument",
    r"its wording before|the wording before|wording of before",
    r"whatever chance can do|than chance\b",
    r"of one's own|of its own accord",
    r"a failure's whole story|fallen run|failing runs? fell",
    r"\b(?:the|a|an|each|one|out|on|in|next|of|its|these) packets?\b|\bpackets? (?:that|are|wait|whole|is|below)\b",
    r"look in with\b",
    r"is seen from what it holds|seen from what",
    r"\bTells (?:how|whether|a|which)\b",
    r"for whoever|for who (?:works|runs)\b",
    r"python -m tests\.bench",
)
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
