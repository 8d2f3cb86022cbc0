"""Label-user: a person says whether the users of conversations did their part, over the user check; the run is judged by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minions_evals_mcp.engine.labels.user_labels import KeptLabels
from minions_evals_mcp.engine.labels.user_labels import Labelled as Answer
from minions_evals_mcp.engine.labels.user_labels import LabelRequest as Request

if TYPE_CHECKING:
    from minions_evals_mcp.engine.run.pipeline import Progress
    from minions_evals_mcp.engine.run.run_benchmark import Started
    from minions_evals_mcp.operations.engine import Engine
    from minions_evals_mcp.store.jobs import Job

__all__ = ["Answer", "KeptLabels", "Request", "begin", "keep", "run"]


async def run(engine: Engine, request: Request, *, progress: Progress | None = None) -> Answer:
    """The words are kept and the run is judged by them, under one key: the same words judge nothing twice.

    What was judged before keeps its verdict; only what had none is asked of a judge. Raises `BadInputError` for an agent.
    """
    from minions_evals_mcp.engine.run.run_benchmark import silent  # noqa: PLC0415  the engine, at the first call

    kept = await keep(engine, request)
    started = await begin(engine, kept, request.max_cost_usd)
    if started is None:
        return await answer(engine, kept, None)
    await started.finish(progress or silent)
    return await answer(engine, kept, started.job)


async def keep(engine: Engine, request: Request) -> KeptLabels:
    """Keeps the words alone."""
    from minions_evals_mcp.engine.labels.user_labels import keep_labels  # noqa: PLC0415  as above

    return await keep_labels(engine, request)


async def begin(engine: Engine, kept: KeptLabels, max_cost_usd: float | None) -> Started | None:
    """The run that judges by the words, recorded and ready to run; None where they agree with the check."""
    from minions_evals_mcp.engine.run.run_benchmark import start_benchmark  # noqa: PLC0415  as above

    if kept.request is None:
        return None
    return await start_benchmark(engine, kept.request.model_copy(update={"max_cost_usd": max_cost_usd}))


async def answer(engine: Engine, kept: KeptLabels, judged: Job | None) -> Answer:
    """What came of the words."""
    from minions_evals_mcp.engine.labels.user_labels import labelled  # noqa: PLC0415  as above

    return await labelled(engine, kept, judged)
