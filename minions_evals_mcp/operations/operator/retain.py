"""Retention: erase the content that is older than the project's settings allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, cast

from minions_evals_mcp.operations.operator.forget import Answer

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.store.erasure.scope import ErasedKind


async def run(engine: Engine, days: Mapping[str, int], *, by: str, counts_only: bool = False) -> Answer:
    """Erases what is older than so many days of each kind ("outputs", "agent-runs", "messages"); what is erased stays so.

    Nothing is written where nothing is too old. Messages that wait for their turn are left. Raises as `forget` does.
    """
    import anyio.to_thread  # noqa: PLC0415  the engine, at the first call

    from minions_evals_mcp.store.erasure.forgetting import count_erasable, forget  # noqa: PLC0415  as above
    from minions_evals_mcp.store.erasure.scope import ErasureScope  # noqa: PLC0415  as above

    now = engine.clock()
    rows: Counter[str] = Counter()
    sealed = False
    work = count_erasable if counts_only else partial(forget, by=by)
    for kind, kept in sorted(days.items()):
        kinds: frozenset[ErasedKind] = frozenset({cast("ErasedKind", kind)})
        wanted = ErasureScope(before=now - timedelta(days=kept), kinds=kinds, retention=True)
        erased = await anyio.to_thread.run_sync(partial(work, engine.config.db, wanted, at=now))
        rows.update(erased.rows)
        sealed = sealed or erased.sealed
    return Answer(rows=dict(sorted(rows.items())), sealed=sealed)
