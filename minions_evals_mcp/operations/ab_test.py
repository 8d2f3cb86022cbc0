"""A/B test: two to five model configurations side by side on the same test cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minions_evals_mcp.engine.ab_test.request import LEAST, InlineBranch
from minions_evals_mcp.engine.ab_test.request import AbTestRequest as Request
from minions_evals_mcp.errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minions_evals_mcp.engine.ab_test.estimate import AbEstimate
    from minions_evals_mcp.engine.ab_test.results import AbTestResult as Answer
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.run.pipeline import Progress
    from minions_evals_mcp.engine.run.run_benchmark import Started

__all__ = ["InlineBranch", "Request", "active_branches", "estimate", "run", "start", "subject", "whole_ids"]


async def run(engine: Engine, request: Request, *, progress: Progress | None = None) -> Answer:
    """The ranking once every branch has run; what ran before under the same key is not paid for again.

    Raises `BadInputError` before anything runs, and `StoppedError` at the cost cap.
    """
    from minions_evals_mcp.engine.ab_test.run_ab_test import run_ab_test  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.run.run_benchmark import silent  # noqa: PLC0415  as above

    return await run_ab_test(engine, request, progress=progress or silent)


async def start(engine: Engine, request: Request) -> Started:
    """The test's job, recorded and ready to run."""
    from minions_evals_mcp.engine.ab_test.run_ab_test import start_ab_test  # noqa: PLC0415  as above

    return await start_ab_test(engine, request)


async def estimate(engine: Engine, request: Request) -> AbEstimate:
    """The model calls of the test and the most that they can cost; nothing runs."""
    from minions_evals_mcp.engine.ab_test.estimate import estimate_ab_test  # noqa: PLC0415  as above

    return await estimate_ab_test(engine, request)


async def whole_ids(engine: Engine, ids: Sequence[str]) -> list[str]:
    """The ids of test cases or benchmarks, of which the beginnings are given."""
    from minions_evals_mcp.engine.meant_ids import meant_id  # noqa: PLC0415  as above

    return [await meant_id(engine, ident, "test-case", "benchmark") for ident in ids]


async def subject(engine: Engine, ids: Sequence[str]) -> dict[str, object]:
    """The field of the request that the ids fill: a test case, several, or a benchmark."""
    from minions_evals_mcp.domain.definitions import Benchmark  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.records.save_records import get_record  # noqa: PLC0415  as above

    if len(ids) > 1:
        return {"test_case_ids": tuple(ids)}
    record = await get_record(engine, ids[0])
    return {"benchmark_id" if isinstance(record.fields, Benchmark) else "test_case_id": ids[0]}


async def active_branches(engine: Engine, case_id: str) -> list[str]:
    """The active branches of the test case, oldest first; raises `BadInputError` for fewer than two."""
    from minions_evals_mcp.engine.ab_test.branches import branches_of_case  # noqa: PLC0415  as above

    active = [branch.id for branch in await branches_of_case(engine, case_id) if branch.fields.is_active]
    if len(active) < LEAST:
        raise BadInputError(
            f"{case_id} has {len(active)} active branches; an A/B test takes two to five.",
            remedy="Import test-branch records: {testCaseId, name, provider, model}.",
        )
    return active
