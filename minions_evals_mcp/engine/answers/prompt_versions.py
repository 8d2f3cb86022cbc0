"""The versions of a prompt: their chain, which of them is current, and what changed from one to another, line by line."""

from __future__ import annotations

import difflib

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.compare.approve_prompt_version import current_version
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import version_rows


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
    named = [ident] if _version(db, ident) is not None else version_rows.versions_of(db, ident)
    if not named:
        raise NotFoundError("prompt or prompt-version", ident, remedy="`minions-evals list prompt-version` shows them.")
    start = named[0]
    chain = version_rows.chain(db, start)
    found = [(one, record) for one in chain if (record := _version(db, one)) is not None]
    current = current_version(db, start)
    return [
        VersionLine(
            id=one,
            title=record.title,
            version_number=record.fields.version_number,
            changelog=record.fields.changelog,
            current=one == current,
            latest=one == chain[-1],
        )
        for one, record in found
    ]


async def line_diff(engine: Engine, before: str, after: str) -> list[str]:
    """The unified diff of two versions' contents, without line ends; empty where they are equal."""
    a, b = await engine.store.read(lambda db: (_version(db, before), _version(db, after)))
    for ident, record in ((before, a), (after, b)):
        if record is None:
            raise NotFoundError("prompt-version", ident, remedy="`minions-evals list prompt-version` shows them.")
    assert a is not None
    assert b is not None
    return list(
        difflib.unified_diff(
            a.fields.content.splitlines(), b.fields.content.splitlines(), before, after, lineterm=""
        )
    )  # fmt: skip


def _version(db: Db, ident: str) -> Record[PromptVersion] | None:
    found = records.minion(db, ident)
    return found if found is not None and isinstance(found.fields, PromptVersion) else None  # pyright: ignore[reportReturnType]  checked
