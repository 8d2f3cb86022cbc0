"""The quick test whether a text may decline at all: most texts may not, and are not read sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from minions_evals_mcp.scoring.assertions.declining import reasons
from minions_evals_mcp.scoring.assertions.declining.eastern import LANGUAGES
from minions_evals_mcp.scoring.assertions.declining.english import DECLINES, MORALS, SIGNS
from minions_evals_mcp.scoring.assertions.declining.spoken import plain
from minions_evals_mcp.scoring.first_look import first_look

LONGEST = 2_000
"""Of a longer text only its beginning and its end are read, which may begin within a sentence."""


def may_decline(text: str) -> bool:
    """Returns whether a sign may stand in the text, which is lower case and without markup."""
    return _any_sign()(text)


def holds_no_refusal(text: str) -> bool:
    """Returns whether neither the text nor a part of it may decline, wherever its sentences begin: told before it is taken apart.

    A long text is not looked at, nor one in which JSON may say in escapes what is looked for.
    """
    return len(text) <= LONGEST and "\\" not in text and not _any_sign(anywhere=True)(plain(text))


@cache
def _any_sign(*, anywhere: bool = False) -> Callable[[str], bool]:
    """Looks for what alone makes a refusal, and for the "not" of "I cannot" in each other language."""
    moral = frozenset[str]().union(*MORALS)
    english = [DECLINES, reasons.DECLINES, *(sign.pattern for sign in SIGNS if sign.core or sign.name in moral)]
    foreign = [
        sign
        for language in LANGUAGES
        for sign in (language.phrase, language.apology, language.regret, language.machine, language.inability[-1])
    ]
    return first_look(foreign, ascii_only=english, anywhere=anywhere)
