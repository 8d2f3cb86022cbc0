"""Submit judgments: the answers to judgment requests are taken, and the run goes on with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minions_evals_mcp.judges.packets import Submission as Request

if TYPE_CHECKING:
    from minions_evals_mcp.operations.engine import Engine
    from minions_evals_mcp.store.jobs import Job as Answer

__all__ = ["Request", "run", "whole_run"]


async def run(engine: Engine, request: Request) -> Answer:
    """The job after the judgments were taken; raises `NotFoundError` for a request that does not wait."""
    from minions_evals_mcp.engine.people.submit import submit_judgments  # noqa: PLC0415  the engine, at the first call

    return await submit_judgments(engine, request)


async def whole_run(engine: Engine, job: Answer) -> Answer:
    """The job, or the comparison of which it is a side."""
    from minions_evals_mcp.engine.jobs import comparison_of  # noqa: PLC0415  as above

    return await comparison_of(engine, job)
