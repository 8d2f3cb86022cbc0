"""Plan a benchmark: how many cases, groups or trials find a difference of a given size."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, BenchmarkId, More
from minions_evals_mcp.domain.values import Value

if TYPE_CHECKING:
    from minions_evals_mcp.engine.compare.sample_size import SamplePlan as Answer
    from minions_evals_mcp.engine.context import Engine


class Request(Value):
    """The sample that a benchmark needs to find a difference between two versions, from the variation of its own runs."""

    benchmark_id: Annotated[BenchmarkId, Field(description="The benchmark", examples=["support/quality"]), NAME_SAYS_IT]
    effect: Annotated[
        float,
        Field(gt=0, le=1, description="Difference of the scores (0 to 1) to find"),
        More("The difference of the overall scores (0 to 1) that you want to detect."),
    ] = 0.1
    power: Annotated[
        float,
        Field(ge=0.5, le=0.99, description="Share of comparisons that find it"),
        More("The share of comparisons that find a difference of that size (0.5 to 0.99)."),
    ] = 0.8
    trials: Annotated[
        Annotated[int, Field(ge=1, le=1000)] | None,
        Field(description="Trials of each case"),
        More("Plan with this number of trials per case (default: that of the newest run)."),
    ] = None


async def run(engine: Engine, request: Request) -> Answer:
    """The plan; nothing runs."""
    from minions_evals_mcp.engine.compare.sample_size import PlanRequest, sample_plan  # noqa: PLC0415  the engine, at the first call

    asked = PlanRequest(
        benchmark_id=request.benchmark_id, effect=request.effect, power=request.power, trials=request.trials
    )
    return await engine.store.read(partial(sample_plan, request=asked))
