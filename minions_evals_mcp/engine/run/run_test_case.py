"""The skill "run a test case": one case, one output (or one for each trial), judged and kept."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import Started, silent, start_cases
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job


async def run_test_case(engine: Engine, request: RunRequest, *, progress: Progress = silent) -> Job:
    """The run of a test case under the request's key; raises as `run_benchmark` does."""
    return await (await start_test_case(engine, request)).finish(progress)


async def start_test_case(engine: Engine, request: RunRequest) -> Started:
    """The test case's job under the request's key, vetted and written down; nothing has run."""
    await _vet(engine, request)
    return await start_cases(engine, request, (request.subject_id,), kind="test-case")


async def _vet(engine: Engine, request: RunRequest) -> None:
    def read(db: Db) -> None:
        records.require(db, request.subject_id, TestCase)
        if request.agent_run_id is not None:
            records.require(db, request.agent_run_id, AgentRun)

    await engine.store.read(read)
