"""The versions of a prompt: their chain, which of them is current, and what changed from one to another, line by line."""

from __future__ import annotations

import difflib

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.version_chain import find_version, prompt_chain, version_record
from minions_evals_mcp.store.connection import Db


class VersionLine(Value):
    """One version in its chain. `current`: the last that was approved, else the first; `latest`: nothing follows it."""

    id: str
    title: str
    version_number: int
    changelog: str
    current: bool
    latest: bool


async def version_chain(engine: Engine, ident: str) -> list[VersionLine]:
    """The recorded versions of the prompt that this version, or a `promptId`, belongs to, oldest first."""
    return await engine.store.read(lambda db: _chain(db, ident))


def _chain(db: Db, ident: str) -> list[VersionLine]:
    chain = prompt_chain(db, ident)
    current = current_version(db, chain.latest.id)
    versions = [(version_id, version_record(db, version_id)) for version_id in chain.version_ids]
    return [
        VersionLine(
            id=version_id,
            title=record.title,
            version_number=record.fields.version_number,
            changelog=record.fields.changelog,
            current=version_id == current,
            latest=version_id == chain.latest.id,
        )
        for version_id, record in versions
        if record is not None
    ]


async def line_diff(engine: Engine, before: str, after: str) -> list[str]:
    """The unified diff of two versions' contents, without line ends; empty where they are equal. Raises `NotFoundError`."""
    a, b = await engine.store.read(lambda db: (find_version(db, before), find_version(db, after)))
    return list(
        difflib.unified_diff(
            a.fields.content.splitlines(), b.fields.content.splitlines(), before, after, lineterm=""
        )
    )  # fmt: skip
