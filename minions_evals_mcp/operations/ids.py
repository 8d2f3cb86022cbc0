"""Ids as people write them: the beginning of one, or `latest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine

LATEST = "latest"
"""The newest: of runs, or of the records of a type."""


async def whole_id(engine: Engine, given: str, *types: str) -> str:
    """The id of the record of those types that was meant; raises `BadInputError` where it begins several."""
    from minions_evals_mcp.engine.meant_ids import meant_id  # noqa: PLC0415  the engine, at the first call

    return await meant_id(engine, given, *types)


async def whole_version(engine: Engine, name: str) -> str:
    """The prompt version that was meant; `latest` by itself is that of the prompt that the cases are of."""
    from minions_evals_mcp.engine.meant_ids import meant_version  # noqa: PLC0415  as above

    return await meant_version(engine, name)
