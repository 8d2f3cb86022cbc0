"""Records as interfaces list and show them: in a line each, whole, and one with what it is linked to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.judge.likeness import with_likeness
from minions_evals_mcp.engine.records.branch_consistency import with_consistency
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store import branches, jobs, records
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.agent.inbox import Message as InboxMessage
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import links
from minions_evals_mcp.store.queries.pages import listings
from minions_evals_mcp.store.queries.pages.listings import RecordLine as ListedLine

COUNTED = 10_000
"""The most records of a type that are counted."""
Message: TypeAlias = InboxMessage
Line: TypeAlias = ListedLine


@dataclass(frozen=True, slots=True)
class LinkedRecord:
    """A record with its relations and gates."""

    record: Record[Fields]
    relations: list[Json]
    gates: list[Json]

    @property
    def wire(self) -> Json:
        """The record as the wire has it."""
        return self.record.wire()


async def lines(engine: Engine, kind: str, *, after: int, limit: int) -> tuple[Sequence[Line], int]:
    """A page of that type in a line each, and how many there are: at most one more than are counted."""
    return await engine.store.read(
        lambda db: (listings.lines(db, kind, after=after, limit=limit), records.count(db, kind, most=COUNTED))
    )


async def page(
    engine: Engine, kind: str, *, after: int, limit: int
) -> tuple[Sequence[tuple[int, Record[Fields]]], int]:
    """A page of whole records of that type with their numbers, and how many there are, as `lines` counts them."""
    found, total = await engine.store.read(
        lambda db: (records.page(db, kind, after=after, limit=limit), records.count(db, kind, most=COUNTED))
    )
    shown = await with_likeness(engine, [record for _, record in found])
    return [(number, record) for (number, _), record in zip(found, shown, strict=True)], total


async def overview(engine: Engine, kinds: Sequence[str], *, newest: int) -> tuple[dict[str, int], Sequence[Job]]:
    """The number of records of each of these types that has any, and the newest jobs, in one snapshot."""
    counted, found = await engine.store.read(
        lambda db: ({kind: listings.count_of(db, kind) for kind in kinds}, jobs.jobs(db, limit=newest))
    )
    return {kind: number for kind, number in counted.items() if number}, found


async def record_view(engine: Engine, ident: str) -> LinkedRecord | Message | None:
    """The record with its relations and gates, or the message."""
    stored = await engine.store.read(partial(_record_view, ident=ident))
    if not isinstance(stored, LinkedRecord):
        return stored
    (record,) = await with_likeness(engine, [await with_consistency(engine, stored.record)])
    return replace(stored, record=record)


def _record_view(db: Db, *, ident: str) -> LinkedRecord | Message | None:
    """The record with its relations and gates, or the message, in one read: each is a way to another thread and back."""
    record = records.find(db, ident)
    if record is None:
        return inbox.message(db, ident)
    shown = branches.with_figures(db, record)
    return LinkedRecord(
        shown,
        [
            {"sourceId": link.source_id, "type": link.type, "targetId": link.target_id}
            for link in links.links(db, ident, shown.type)
        ],
        [gate.wire() for gate in records.gates(db, shown)],
    )


async def message(engine: Engine, ident: str) -> Message | None:
    """The message under that id."""
    return await engine.store.read(lambda db: inbox.message(db, ident))
