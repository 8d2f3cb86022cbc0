"""The skill "run a test case": one case, one output (or one for each trial), judged and kept."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import Started, silent, start_cases
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.jobs import Job


async def run_test_case(engine: Engine, request: RunRequest, *, progress: Progress = silent) -> Job:
    """The run of a test case under the request's key; raises as `run_benchmark` does."""
    return await (await start_test_case(engine, request)).finish(progress)


async def start_test_case(engine: Engine, request: RunRequest) -> Started:
    """The test case's job under the request's key, vetted and written down; nothing has run."""
    await _vet(engine, request)
    return await start_cases(engine, request, (request.subject_id,), kind="test-case")


async def _vet(engine: Engine, request: RunRequest) -> None:
    wanted = [request.subject_id, *((request.agent_run_id,) if request.agent_run_id else ())]
    found = await engine.store.read(lambda db: records.minions(db, wanted))
    case = found.get(request.subject_id)
    if case is None or not isinstance(case.fields, TestCase):
        raise NotFoundError("test-case", request.subject_id, remedy="`minions-evals list test-case` shows them.")
    if request.agent_run_id is not None and getattr(found.get(request.agent_run_id), "type", "") != "agent-run":
        raise NotFoundError("agent-run", request.agent_run_id, remedy="`minions-evals list agent-run` shows them.")
