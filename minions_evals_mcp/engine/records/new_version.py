"""A prompt edited as a new version: the next number, following the latest of its chain."""

from __future__ import annotations

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.engine.version_chain import versions_beside
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db


async def new_version(engine: Engine, after: str, content: str, *, changelog: str) -> Record[PromptVersion]:
    """The new version behind that one, which must be the latest of its prompt; what it says must be other than that says.

    Raises `NotFoundError` for an unknown version, `BadInputError` where another follows it or nothing was changed.
    """
    before, last, number = await engine.store.read(lambda db: _place(db, after))
    if last != after:
        raise BadInputError(
            f"{after} is not the latest version any more: that is {last}.", remedy="Edit the latest one."
        )
    text = content.replace("\r\n", "\n")
    if is_blank(text) or text.strip() == before.fields.content.strip():
        raise BadInputError("nothing was changed.", remedy="Change the text, then save it.")
    fields = before.fields.model_copy(
        update={"content": text, "version_number": number + 1, "changelog": changelog.strip() or "edited on the page"}
    )
    now = engine.clock()
    record = Record(engine.new_id(), fields, before.title, now, now)
    await save_records(engine, [Arrival(record)], (Relation(record.id, after, "follows"),))
    return record


def _place(db: Db, after: str) -> tuple[Record[PromptVersion], str, int]:
    before = records.require(db, after, PromptVersion)
    chain = versions_beside(db, after)
    versions = records.get_all(db, chain, PromptVersion).values()
    return before, chain[-1], max(version.fields.version_number for version in versions)
