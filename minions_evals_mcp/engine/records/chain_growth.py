"""The rules of a prompt chain's growth: what a version follows is set once, and what was measured gets no new past."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.prompts.version_chain import Link
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import version_rows

AT_ITS_END = (
    "Versions can be added only at the end of a chain that has runs: give the version a higher number, or let it"
    " follow an existing version."
)


def vet_growth(db: Db, arriving: Sequence[Record[Fields]], relations: Sequence[Relation]) -> None:
    """Raises `RuleError` (HR2) where the batch would slip something under a chain, or tie what was measured to another."""
    for relation in relations:
        _vet_relation(db, relation)
    tied = {relation.source_id for relation in relations}
    for record in arriving:
        if isinstance(record.fields, PromptVersion) and record.id not in tied:
            _vet_version(db, record.id, record.fields)


def _vet_relation(db: Db, relation: Relation) -> None:
    predecessor = records.followed_by(db, relation.source_id)
    if predecessor == relation.target_id:
        return
    what = f"{relation.source_id} cannot follow {relation.target_id}"
    if predecessor is not None:
        raise RuleError(
            "HR2",
            f"{what}: it already follows {predecessor}, which cannot change.",
            remedy="Save a new version instead.",
        )
    measured = version_rows.measured(
        db, _with_followers(version_rows.links(db, relation.source_id), relation.source_id)
    )
    if measured:
        raise RuleError("HR2", f"{what}: {measured[0]} already has runs.", remedy=AT_ITS_END)


def _with_followers(links: Sequence[Link], version: str) -> list[str]:
    """The version and all that follow it, directly or not."""
    versions = [version]
    for ident in versions:
        versions += [link.id for link in links if link.follows == ident and link.id not in versions]
    return versions


def _vet_version(db: Db, ident: str, version: PromptVersion) -> None:
    """A version that follows none is placed by its number among those of its prompt."""
    if version.prompt_id is None or records.minion(db, ident) is not None:
        return
    others = version_rows.links(db, version.prompt_id)
    later = [other.id for other in others if other.number >= version.version_number]
    if later and version_rows.measured(db, [other.id for other in others]):
        raise RuleError(
            "HR2",
            f"{ident} is number {version.version_number} of {version.prompt_id}, under or beside {later[0]}, and did not exist"
            " before.",
            remedy=AT_ITS_END,
        )
