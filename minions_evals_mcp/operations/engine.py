"""The engine as interfaces hold it: a composition root opens it, operations take it, and no interface looks into its modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minions_evals_mcp.engine.context import Engine, wall_clock

if TYPE_CHECKING:
    from minions_evals_mcp.errors import NotFoundError

__all__ = ["Engine", "wall_clock", "with_near_ids"]


async def with_near_ids(engine: Engine, refused: NotFoundError) -> NotFoundError:
    """The refusal, naming ids that may have been meant."""
    from minions_evals_mcp.engine import near_ids  # noqa: PLC0415  only a refusal needs it

    return await near_ids.with_near_ids(engine, refused)
