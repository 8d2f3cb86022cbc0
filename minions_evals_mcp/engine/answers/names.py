"""The names that people give things: a prompt version as PROMPT@NUMBER or by its title, a run by its subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.values import is_made
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db

LONGEST_TITLE = 48


def version_names(db: Db, versions: Iterable[str | None]) -> dict[str, str]:
    """The name of each version (or other record): its prompt and number, else its title where its id was made, else its id."""
    ids = {version for version in versions if version is not None}
    minions = records.minions(db, sorted(ids))
    named: dict[str, str] = {}
    for ident in ids:
        record = minions.get(ident)
        named[ident] = ident if record is None else _name(ident, record.title, record.fields)
    return named


def _name(ident: str, title: str, fields: object) -> str:
    if isinstance(fields, PromptVersion) and fields.prompt_id is not None:
        return f"{fields.prompt_id}@{fields.version_number}"
    return title if is_made(ident) else ident


def in_sentence(names: Mapping[str, str], version: str) -> str:
    """The version's name as a part of a sentence: a title stands in quotes, and is cut where it is long."""
    name = named(names, version)
    if " " not in name:
        return name
    return f'"{name if len(name) <= LONGEST_TITLE else name[: LONGEST_TITLE - 1].rstrip() + "…"}"'


def renamed(words: str, names: Mapping[str, str]) -> str:
    """The words with each id among them by its name."""
    return " ".join(names.get(word, word) for word in words.split(" "))


def named(names: Mapping[str, str], version: str | None) -> str:
    """The version's name, empty where there is none."""
    return "" if version is None else names.get(version, version)
