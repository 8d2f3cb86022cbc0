"""Budget of one rendering: how many steps a template may take, and how many characters it may read and write."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

STEPS = 500_000
"""Turns of loops and members of lists that are gone over; about a second of work."""
CHARACTERS = 1 << 25
"""Characters over all outputs, parts of texts and filters; some prompts hold documents of megabytes."""


class TemplateBudgetError(ValueError):
    """The template does more work than one rendering may."""


@dataclass(slots=True)
class _Left:
    steps: int
    characters: int


_CURRENT: ContextVar[_Left | None] = ContextVar("template_budget", default=None)


@contextmanager
def budget() -> Generator[None]:
    """Limits what is spent inside; a rendering inside another spends the other's budget."""
    if _CURRENT.get() is not None:
        yield
        return
    token = _CURRENT.set(_Left(STEPS, CHARACTERS))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def spend_steps(number: int) -> None:
    """Counts steps about to be taken; raises `TemplateBudgetError` where there are none left."""
    left = _CURRENT.get()
    if left is not None:
        left.steps -= number
        if left.steps < 0:
            raise TemplateBudgetError(f"it takes more than {STEPS:,} steps")


def spend_characters(number: int) -> None:
    """Counts characters about to be read or written; raises `TemplateBudgetError` where there are none left."""
    left = _CURRENT.get()
    if left is not None:
        left.characters -= number
        if left.characters < 0:
            raise TemplateBudgetError(f"it makes more than {CHARACTERS:,} characters")
