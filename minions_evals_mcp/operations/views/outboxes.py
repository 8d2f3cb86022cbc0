"""The outbox as interfaces show it: what was told to neighbours, what waits, and what they refused."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store.agent import delivery
from minions_evals_mcp.store.events import OutboxRow
from minions_evals_mcp.store.queries.pages import listings

NEWEST, REFUSED = 50, 20


async def overview(
    engine: Engine,
) -> tuple[Sequence[OutboxRow], Sequence[delivery.WaitingDeliveries], Sequence[delivery.RefusedDelivery]]:
    """The newest rows, the queues of what waits, and the newest refused."""
    return await engine.store.read(
        lambda db: (listings.newest_told(db, limit=NEWEST), delivery.queue(db), delivery.refused(db, limit=REFUSED))
    )
