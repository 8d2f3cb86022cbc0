"""Calls of workers that wait to be allowed: one of a lost worker keeps no other from being made."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from minions_evals_mcp.cluster.permits import GIVEN_UP, Permits
from minions_evals_mcp.engine.budget import Budget, PricedCall
from tests.hang import HANG_S

CALL = PricedCall("anthropic", 1.0)


def _stop(reason: str) -> None:
    raise AssertionError(reason)


@pytest.mark.parametrize("returns", [False, True])
async def test_a_call_that_waits_while_its_worker_is_lost_is_not_allowed_and_holds_nothing(*, returns: bool) -> None:
    permits = Permits(Budget(None, None, _stop), most=1)
    said: list[tuple[str, str]] = []

    async def answer(name: str, told: str) -> None:
        said.append((name, told))

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for worker in ("w1", "w2"):
                permits.meet(worker)
            for worker in ("w1", "w2", "w1"):
                tasks.start_soon(permits.allow, worker, CALL, partial(answer, worker))
                await anyio.wait_all_tasks_blocked()
            permits.lose("w2")
            if returns:
                permits.meet("w2")
            permits.free("w1", CALL)
            await anyio.wait_all_tasks_blocked()
            permits.free("w1", CALL)
    assert said == [("w1", ""), ("w2", GIVEN_UP), ("w1", "")]
    assert permits.budget.in_flight == 0
