"""Rejudge: judge the stored outputs of a benchmark-run anew. No target is called, and the first judgments stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, Asker
from minions_evals_mcp.domain.values import Text, Value
from minions_evals_mcp.engine.request import CostCap, JudgedBy, NoCachedJudgments, RunKey, RunRequest, SecondsCap

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.run.pipeline import Progress
    from minions_evals_mcp.store.jobs import Job as Answer


class Request(Value):
    """Judge a run's stored outputs anew, under another judge or the rubric as it is now."""

    run_id: Annotated[Text, Field(description="The benchmark-run, by id or key"), NAME_SAYS_IT]
    judge: JudgedBy = "auto"
    fresh: NoCachedJudgments = False
    triggered_by: Asker = "command-line"
    key: RunKey = None
    max_cost_usd: CostCap = None
    max_seconds: SecondsCap = None


async def run_request(engine: Engine, request: Request) -> RunRequest:
    """The engine's request; raises `NotFoundError` where there is no such run."""
    from minions_evals_mcp.engine.run.rejudge import rejudge_request  # noqa: PLC0415  the engine, at the first call

    rejudged = await rejudge_request(
        engine, request.run_id, judge=request.judge, key=request.key, triggered_by=request.triggered_by
    )
    return rejudged.model_copy(
        update={"fresh": request.fresh, "max_cost_usd": request.max_cost_usd, "max_seconds": request.max_seconds}
    )


async def run(engine: Engine, request: Request, *, progress: Progress | None = None) -> Answer:
    """The new run's job at its end. It does not count for trends and regressions."""
    from minions_evals_mcp.engine.run.run_benchmark import run_benchmark, silent  # noqa: PLC0415  as above

    return await run_benchmark(engine, await run_request(engine, request), progress=progress or silent)
