"""Submit judgments and the messages of users: the answers to requests are taken, and the run goes on with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from minions_evals_mcp.judges.packets import Submission as Request

if TYPE_CHECKING:
    from minions_evals_mcp.domain.speaker import Speaker
    from minions_evals_mcp.engine.run.run_benchmark import Started
    from minions_evals_mcp.operations.engine import Engine
    from minions_evals_mcp.store.jobs import Job as Answer

__all__ = ["GoingOn", "Request", "going_on", "run", "spoken_by", "whole_run"]


class GoingOn(NamedTuple):
    """How a run goes on whose users were answered, under the cap that it was asked for with."""

    starting: Callable[[], Awaitable[Started]]
    max_cost_usd: float | None


async def run(engine: Engine, request: Request) -> Answer:
    """The job after the answers were taken; raises `NotFoundError` for a request that does not wait."""
    from minions_evals_mcp.engine.people.submit import submit_judgments  # noqa: PLC0415  the engine, at the first call

    return await submit_judgments(engine, request)


async def spoken_by(engine: Engine, name: str) -> Speaker:
    """The person of that name, whom an interface vouches for, with the role that the store knows."""
    from minions_evals_mcp.domain.speaker import person  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.people.persons import person_named  # noqa: PLC0415  as above

    return await person_named(engine, name) or person(name)


async def whole_run(engine: Engine, job: Answer) -> Answer:
    """The job, or the comparison of which it is a side."""
    from minions_evals_mcp.engine.jobs import comparison_of  # noqa: PLC0415  as above

    return await comparison_of(engine, job)


async def going_on(engine: Engine, request: Request, job: Answer, *, by_person: bool = False) -> GoingOn | None:
    """How the run goes on after messages of its users; None where none was given, or where no server began the run.

    One that was begun elsewhere goes on where a person asks, if nothing of it is left but those conversations: its cap is not known.
    """
    from minions_evals_mcp.operations.resuming import resumed  # noqa: PLC0415  as above
    from minions_evals_mcp.store import jobs  # noqa: PLC0415  as above
    from minions_evals_mcp.store.queries import server_runs  # noqa: PLC0415  as above

    if all(packet.message is None for packet in request.packets):
        return None
    cap = await engine.store.read(partial(server_runs.cap_of, job_id=job.id))
    if cap is None and by_person:
        counts = await engine.store.read(partial(jobs.unit_counts, job_id=job.id))
        messages = sum(packet.message is not None for packet in request.packets)
        cap = (None,) if job.total - sum(counts.values()) <= messages else None
    return None if cap is None else GoingOn(partial(resumed, engine, job, max_cost_usd=cap[0]), cap[0])
