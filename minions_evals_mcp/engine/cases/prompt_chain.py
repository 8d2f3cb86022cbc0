"""Which version of a prompt a number stands for: a prompt is the chain of its versions (contracts 3)."""

from __future__ import annotations

from typing import cast

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.prompt_scoring.cases import shelf_of
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.scoring.prompt_shelf import Prompt
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db

_MOST = 100_000


def version_of_prompt(db: Db, name: str, number: int | None) -> Record[PromptVersion]:
    """The version with that number, the latest without one, of the prompt that a promptId or any of its versions names.

    Raises `NotFoundError` with the numbers that there are.
    """
    chain = _chain(db, name)
    found = chain if number is None else [one for one in chain if one.number == number]
    if not found:
        there = ", ".join(dict.fromkeys(str(one.number) for one in chain))
        raise NotFoundError("prompt version", f"{name} {number}", remedy=f"Its versions are {there}.")
    return cast("Record[PromptVersion]", records.minion(db, found[-1].id))


def _chain(db: Db, name: str) -> list[Prompt]:
    """The prompt's versions by number, the one that nothing follows last."""
    versions = [record for _, record in records.page(db, PromptVersion.slug, limit=_MOST)]
    follows = [one for version in versions for one in records.follows(db, version.id) if one.source_id == version.id]
    shelf = shelf_of([*versions, *follows])
    chain_id = shelf.prompt(name).chain_id
    members = [one for one in shelf.prompts if one.chain_id == chain_id]
    return sorted(members, key=lambda one: (one.id not in shelf.followed, one.number))
