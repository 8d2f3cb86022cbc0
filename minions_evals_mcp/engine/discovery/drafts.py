"""Drafts of test cases: saved again without touching what somebody decided on, and accepted one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db

DELETED = "deleted"


async def save_drafts(engine: Engine, drafts: Sequence[Record[TestCase]]) -> dict[str, str]:
    """Saves the drafts; the status of each. One that was accepted, retired or deleted meanwhile stays as it is."""
    wanted = [draft.id for draft in drafts]
    there = await engine.store.read(lambda db: records.get_all(db, wanted, TestCase))
    decided = {
        ident: DELETED if case.deleted_at is not None else case.fields.status
        for ident, case in there.items()
        if case.deleted_at is not None or case.fields.status != "draft"
    }
    await save_records(engine, [Arrival(draft) for draft in drafts if draft.id not in decided])
    return {ident: decided.get(ident, "draft") for ident in wanted}


async def accept_drafts(engine: Engine, idents: Sequence[str], *, tag: str, made_of: str) -> tuple[str, ...]:
    """Makes drafts active, one by one; raises `BadInputError` for a case that is no such draft, `NotFoundError`."""

    def drafts(db: Db) -> list[Record[TestCase]]:
        return [records.require(db, ident, TestCase, hidden=False) for ident in idents]

    cases = await engine.store.read(drafts)
    wrong = next((case.id for case in cases if tag not in case.tags), None)
    if wrong is not None:
        raise BadInputError(f"{wrong} is not a draft created from {made_of}.", remedy="Name a case from its answer.")
    now = engine.clock()
    active = [
        replace(case, fields=case.fields.model_copy(update={"status": "active"}), updated_at=now, status="active")
        for case in cases
        if case.fields.status == "draft"
    ]
    await save_records(engine, [Arrival(case) for case in active])
    return tuple(case.id for case in active)
