"""Get a run: how far it is, its figures, what failed, and the outputs that wait to be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from minions_evals_mcp.domain.request_fields import More
from minions_evals_mcp.domain.values import Text, Value
from minions_evals_mcp.operations.ids import LATEST

if TYPE_CHECKING:
    from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary
    from minions_evals_mcp.engine.answers.run_summary import RunSummary as Answer
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.standing import RunProgress as Progress
    from minions_evals_mcp.store.jobs import Job as RunJob

Summary: TypeAlias = "Answer"
Standing: TypeAlias = "Progress"
Job: TypeAlias = "RunJob"
SHOWN = 20


class Request(Value):
    """Show a run: its state, its figures, what failed, and the outputs that wait to be judged."""

    run_id: Annotated[
        Text,
        Field(description="A run's id or key"),
        More("One run, by id, the beginning of its id, its key, or latest."),
    ]
    packet: Annotated[
        Annotated[str, Field(max_length=80)] | None,
        Field(description="Digest of a judgment request: returns it in full"),
    ] = None


async def run(engine: Engine, request: Request, *, limit: int = SHOWN) -> Answer:
    """The summary of that run, with at most `limit` failures, unscored units and judgment requests."""
    return await summary(engine, (await job(engine, request.run_id)).id, limit=limit)


async def summary(engine: Engine, run_id: str, *, limit: int = SHOWN) -> Answer:
    """The summary of the run under that id or key."""
    from minions_evals_mcp.engine.answers.run_summary import summarize  # noqa: PLC0415  the engine, at the first call

    return await summarize(engine, run_id, limit=limit)


async def stored_job(engine: Engine, run_id: str) -> RunJob:
    """The job under that id or key, as it is."""
    from minions_evals_mcp.engine.jobs import get_job  # noqa: PLC0415  as above

    return await get_job(engine, run_id)


async def of_key(engine: Engine, key: str) -> RunJob | None:
    """The job under that key, where there is one."""
    from minions_evals_mcp.store import jobs  # noqa: PLC0415  as above

    return await engine.store.read(lambda db: jobs.job_by_key(db, key))


async def job(engine: Engine, run_id: str) -> RunJob:
    """The job under that id or key; `latest` is the newest, of a side of a comparison the comparison's."""
    from minions_evals_mcp.engine.jobs import comparison_of, get_job  # noqa: PLC0415  as above

    found = await get_job(engine, run_id)
    return await comparison_of(engine, found) if run_id == LATEST else found


async def compared(engine: Engine, run_id: str, *, limit: int = SHOWN) -> ComparisonSummary | None:
    """The summary of the comparison that is recorded under that id; None where there is none."""
    from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison  # noqa: PLC0415  as above
    from minions_evals_mcp.store.queries.run_pairs import comparison  # noqa: PLC0415  as above

    if await engine.store.read(lambda db: comparison(db, run_id)) is None:
        return None
    return await summarize_comparison(engine, run_id, limit=limit)
