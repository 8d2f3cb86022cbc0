"""Detect a trend: where a benchmark is heading over its last runs, and what changed between them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, BenchmarkId, More
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.frozen_types import frozen_type

if TYPE_CHECKING:
    from minions_evals_mcp.domain.records import Record
    from minions_evals_mcp.domain.results import EvalTrend
    from minions_evals_mcp.engine.answers.trend_summary import TrendSummary
    from minions_evals_mcp.engine.answers.what_changed import WhatChanged
    from minions_evals_mcp.engine.context import Engine


class Request(Value):
    """Say where a benchmark is heading."""

    benchmark_id: Annotated[BenchmarkId, Field(description="The benchmark"), NAME_SAYS_IT]
    limit: Annotated[
        Annotated[int, Field(ge=1, le=1000)], Field(description="Newest points"), More("Maximum number of runs shown.")
    ] = 20
    what_changed: Annotated[bool, Field(description="Levels, causes, flaky cases, cost")] = False
    since: Annotated[datetime | None, Field(description="whatChanged from this day")] = None


@frozen_type
class Answer:
    """The trend, and beside it what changed, where that was asked."""

    trend: TrendSummary
    changes: WhatChanged | None


async def run(engine: Engine, request: Request) -> Answer:
    """The trend as of the newest run; raises `NotFoundError` where the benchmark never ran."""
    from minions_evals_mcp.engine.answers.trend_summary import summarize_trend  # noqa: PLC0415  the engine, at the first call

    trend = await summarize_trend(engine, request.benchmark_id, limit=request.limit)
    wanted = request.what_changed or request.since is not None
    return Answer(trend, await changes(engine, request) if wanted else None)


async def changes(engine: Engine, request: Request) -> WhatChanged:
    """The levels of the benchmark, what changed when each began, flaky cases, and the cost of the runs."""
    from minions_evals_mcp.engine.answers.what_changed import what_changed  # noqa: PLC0415  as above

    since = request.since
    moment = since.replace(tzinfo=UTC) if since is not None and since.tzinfo is None else since
    return await what_changed(engine, request.benchmark_id, since=moment)


async def newest_target(engine: Engine, benchmark_id: str) -> str | None:
    """The target that the benchmark's newest run had make its outputs; None where they are recorded."""
    from minions_evals_mcp.store.queries import run_origins  # noqa: PLC0415  as above

    return await engine.store.read(lambda db: run_origins.newest_target(db, benchmark_id))


async def stored(engine: Engine, benchmark_id: str) -> Record[EvalTrend]:
    """The trend's record, written with the benchmark's last run; raises `NotFoundError`."""
    from minions_evals_mcp.domain.results import EvalTrend  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.conclude.detect_trend import trend_id  # noqa: PLC0415  as above
    from minions_evals_mcp.store import records  # noqa: PLC0415  as above

    ident, remedy = trend_id(benchmark_id), "Run the benchmark first."
    return await engine.store.read(lambda db: records.require(db, ident, EvalTrend, remedy=remedy))
