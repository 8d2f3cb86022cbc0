"""The store that a command line names, in the commands that its answer names: as they stand they work from the same folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.presentation.next_steps import Terminal, in_terms

OPTION = "--db"
_STORELESS = "demo|init|pick|score"
_NOUNS = "data|db|mcp|people|prompt|suite|world"
"""Words behind which the verb stands; a test holds them against the commands that there are."""
_COMMAND = late(
    rf"\bminions-evals (?!(?:{_STORELESS})\b)(?:(?:{_NOUNS}) (?=[a-z]))?+[a-z][a-z-]*+\b(?! --help)(?![^`\n;,]*? {OPTION} )"
)


def named_store(arguments: Sequence[str]) -> Path | None:
    """The file behind the last `--db` of a command line."""
    named = [argument[len(OPTION) + 1 :] for argument in arguments if argument.startswith(f"{OPTION}=")]
    named += [value for option, value in pairwise(arguments) if option == OPTION]
    return Path(named[-1]) if named else None


def in_store(text: str, store: Path | None) -> str:
    """The text with its next steps as commands, and that store behind each command of ours."""
    return in_terms(text, Terminal(store), partial(_with_store, store=store))


def _with_store(text: str, *, store: Path | None) -> str:
    if store is None or "minions-evals " not in text:
        return text
    option = f" {OPTION} {shlex.quote(str(store))}"
    return _COMMAND.sub(lambda command: command[0] + option, text)
