"""One way in for work that outlives a call: written down first, carried on after, taken up again after a kill."""

from __future__ import annotations

from typing import Literal

from minions_evals_mcp.engine.compare_prompt_versions import start_comparison
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import ComparisonRequest, RunRequest
from minions_evals_mcp.engine.run_ab_test import request_of as ab_request_of
from minions_evals_mcp.engine.run_ab_test import start_ab_test
from minions_evals_mcp.engine.run_benchmark import Started, start_benchmark
from minions_evals_mcp.engine.run_test_case import start_test_case
from minions_evals_mcp.engine.submit import request_of
from minions_evals_mcp.store.jobs import Job

__all__ = ["Started", "resume", "start"]


async def start(engine: Engine, request: RunRequest, *, kind: Literal["test-case", "benchmark"]) -> Started:
    """The job under the request's key, vetted and written down; nothing has run until it is finished.

    Raises `NotFoundError`, `BadInputError`, `UnsupportedError` or `ConflictError` by name.
    """
    return await (start_test_case if kind == "test-case" else start_benchmark)(engine, request)


async def resume(engine: Engine, job: Job) -> Started:
    """The same job, to be carried on from where it was left; raises `ConflictError` if the suite was edited since."""
    if job.kind == "comparison":
        asked = ComparisonRequest.model_validate(job.spec["request"], strict=False)
        return await start_comparison(engine, asked.model_copy(update={"key": job.key}))
    if job.kind == "ab-test":
        return await start_ab_test(engine, ab_request_of(job))
    request = request_of(job).model_copy(update={"key": job.key})
    kind: Literal["test-case", "benchmark"] = "test-case" if job.kind == "test-case" else "benchmark"
    return await start(engine, request, kind=kind)
