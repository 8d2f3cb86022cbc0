"""Tools that explain and look back."""

from __future__ import annotations

from functools import partial
from typing import cast

import anyio
from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record, wire_fields
from minions_evals_mcp.domain.results import EvalFailure
from minions_evals_mcp.engine.classify_failure import classify_failure as classify
from minions_evals_mcp.engine.trend_summary import TrendSummary, summarize_trend
from minions_evals_mcp.server import asked as arguments
from minions_evals_mcp.server.answers import Pages, Shape, answered, cursor_of
from minions_evals_mcp.server.calls import Call
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db

SHORT = 12
"""So many points fit a short answer."""


async def classify_failure(call: Call, asked: arguments.ClassifyFailure) -> CallToolResult:
    """The failures of that test-run or run analysed anew, as many as fit the page and the wait."""
    idents = await call.engine.store.read(partial(_failed, ident=asked.id))
    offset = cursor_of(asked.cursor)
    done: list[Record[EvalFailure]] = []
    wanted = idents[offset : offset + asked.limit]
    with anyio.move_on_after(asked.wait_seconds) as waiting:
        for ident in wanted:
            done.append(await classify(call.engine, ident, ask_model=asked.ask_model))
            await call.report_progress(len(done), len(wanted), None)
    late = ", the wait is over" if waiting.cancelled_caught else ""
    told: Json = {
        "summary": f"{len(done)} of {len(idents)} failures of {asked.id} analysed{late}",
        "failures": [_failure(one) for one in done],
    }
    more = offset + len(done) < len(idents)
    return answered(told, shape=Shape(asked.detail, offset=offset), pages=Pages(("failures",), more))


def _failed(db: Db, *, ident: str) -> list[str]:
    """The failed test-runs of a run, or the one test-run itself."""
    found = jobs.job(db, ident) or jobs.job_by_key(db, ident)
    return [ident] if found is None else runs.failed_ids(db, found.id)


def _failure(record: Record[EvalFailure]) -> Json:
    return {"id": record.id, **wire_fields(record.fields)}


async def detect_trend(call: Call, asked: arguments.DetectTrend) -> CallToolResult:
    """The trend of a benchmark with its newest points."""
    found = await summarize_trend(call.engine, asked.benchmark_id, limit=asked.limit)
    return answered(told_trend(found), shape=Shape(asked.detail if asked.limit <= SHORT else "full"))


def told_trend(found: TrendSummary) -> Json:
    """The trend as an answer."""
    note = " (provisional: fewer than 5 runs)" if found.provisional else ""
    return {
        "summary": f"{found.benchmark_id}: {found.direction}{note} over {found.series_length} runs;"
        f" {found.consecutive_degrading} degrading in a row; {found.reason}",
        **cast("Json", found.model_dump(mode="json")),
    }
