"""The versions of a prompt: their chain, which of them is current, and what changed from one to another, line by line."""

from __future__ import annotations

import difflib
from datetime import datetime

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.version_chain import find_version, prompt_chain, version_record
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.run_pairs import approved_of


class VersionLine(Value):
    """One version in its chain, with its last approval.

    `current`: the last that was approved, else the first. `latest`: nothing follows it.
    """

    id: str
    title: str
    version_number: int
    changelog: str
    current: bool
    latest: bool
    approved_by: str | None = None
    approved_at: datetime | None = None


async def version_chain(engine: Engine, ident: str) -> list[VersionLine]:
    """The recorded versions of the prompt that this version, or a `promptId`, belongs to, oldest first."""
    return await engine.store.read(lambda db: _chain(db, ident))


def _chain(db: Db, ident: str) -> list[VersionLine]:
    chain = prompt_chain(db, ident)
    current = current_version(db, chain.latest.id)
    lines = [
        VersionLine(
            id=version_id,
            title=record.title,
            version_number=record.fields.version_number,
            changelog=record.fields.changelog,
            current=version_id == current,
            latest=version_id == chain.latest.id,
        )
        for version_id in chain.version_ids
        if (record := version_record(db, version_id)) is not None
    ]
    return [_with_approval(db, line) for line in lines]


def _with_approval(db: Db, line: VersionLine) -> VersionLine:
    approved = approved_of(db, [line.id])
    if approved is None:
        return line
    return line.model_copy(
        update={"approved_by": approved.fields.decided_by, "approved_at": approved.fields.decided_at}
    )


async def line_diff(engine: Engine, before: str, after: str) -> list[str]:
    """The unified diff of two versions' contents, without line ends; empty where they are equal. Raises `NotFoundError`."""
    a, b = await engine.store.read(lambda db: (find_version(db, before), find_version(db, after)))
    return list(
        difflib.unified_diff(
            a.fields.content.splitlines(), b.fields.content.splitlines(), before, after, lineterm=""
        )
    )  # fmt: skip
