"""Ids as people write them: the beginning of one, or `latest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine

M = TypeVar("M", bound=BaseModel)

LATEST = "latest"
"""The newest: of runs, or of the records of a type."""


async def whole_id(engine: Engine, given: str, *types: str) -> str:
    """The id of the record of those types that was meant; raises `BadInputError` where it begins several."""
    from minions_evals_mcp.engine.meant_ids import meant_id  # noqa: PLC0415  the engine, at the first call

    return await meant_id(engine, given, *types)


async def with_whole_ids(engine: Engine, request: M, *, only_units: bool = False) -> M:
    """The request with every id that it names written out, or those of a run's units alone; its fields say which those are."""
    from minions_evals_mcp.engine.meant_ids import with_meant_ids  # noqa: PLC0415  as above

    return await with_meant_ids(engine, request, only_units=only_units)


async def is_test_case(engine: Engine, ident: str) -> bool:
    """Whether the record of that id is a test case; raises `NotFoundError` where there is none."""
    from minions_evals_mcp.domain.definitions import TestCase  # noqa: PLC0415  as above
    from minions_evals_mcp.store import records  # noqa: PLC0415  as above

    record = await engine.store.read(lambda db: records.minion(db, ident))
    if record is None:
        from minions_evals_mcp.engine.records.save_records import get_record  # noqa: PLC0415  it says what there is instead

        record = await get_record(engine, ident)
    return isinstance(record.fields, TestCase)


def is_short(ident: str) -> bool:
    """Whether it is the id of a run or of its unit as answers write it, by the beginning of the run's."""
    from minions_evals_mcp.engine.meant_ids import is_short as is_written_short  # noqa: PLC0415  as above

    return is_written_short(ident)
