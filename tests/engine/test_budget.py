"""What a run has spent, and may have: calls that are under way when it is killed are paid and answer nobody."""

from __future__ import annotations

from collections import defaultdict

import anyio
import anyio.lowlevel
import pytest

from minions_evals_mcp.domain.outcomes import TargetErrored
from minions_evals_mcp.engine.budget import AHEAD, UNANSWERED, Budget, PricedCall
from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.models.replies import Completion

CALL = PricedCall("anthropic", 0.25)
REPLY = Completion("yes", "m", "stop", None, 1.0, 0.1, 1, ())


def _stop(reason: str) -> None:
    raise AssertionError(reason)


async def test_calls_are_written_down_before_they_are_sent_and_what_is_answered_is_taken_off_again() -> None:
    kept = defaultdict[str, float](float)

    async def write_down(spent: dict[str, float]) -> None:
        for name, amount in spent.items():
            kept[name] += amount

    budget = Budget(None, None, _stop, write_down=write_down)
    for sent in range(AHEAD + 2):
        await budget.reserve(CALL)
        assert kept["calls"] + kept[UNANSWERED] > sent, "a kill at this moment leaves none uncounted"
    for _ in range(AHEAD):
        budget.settle(CALL, REPLY)
        budget.free(CALL)
    await write_down(budget.break_off())
    assert (kept["calls"], kept[UNANSWERED]) == (AHEAD, 2)


@pytest.mark.parametrize(("spent", "earlier"), [({"costUsd": 0.4, "calls": 4}, 0.5), ({}, 0.25)])
async def test_a_cap_counts_what_was_under_way_at_a_kill(spent: dict[str, float], earlier: float) -> None:
    budget = Budget(1.0, None, _stop)
    budget.take_up({**spent, UNANSWERED: 1})
    await budget.reserve(CALL)
    assert budget.earlier_usd == pytest.approx(earlier)


async def test_what_could_not_be_written_down_is_told_with_the_next() -> None:
    kept, failing = defaultdict[str, float](float), True

    async def write_down(spent: dict[str, float]) -> None:
        await anyio.lowlevel.checkpoint()
        if failing:
            raise StoreError("the disk is full")
        for name, amount in spent.items():
            kept[name] += amount

    budget = Budget(None, None, _stop, write_down=write_down)
    budget.count_own(0.5)
    with pytest.raises(StoreError):
        await budget.reserve(CALL)
    failing = False
    await write_down(budget.break_off())
    assert (kept["costUsd"], kept[UNANSWERED]) == (0.5, 0)


async def test_an_interrupted_run_has_written_down_what_it_told() -> None:
    kept = defaultdict[str, float](float)

    async def write_down(spent: dict[str, float]) -> None:
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        for name, amount in spent.items():
            kept[name] += amount

    budget = Budget(None, None, _stop, write_down=write_down)
    budget.count_own(0.5)
    with anyio.CancelScope() as scope:
        await budget.reserve(CALL)
    assert kept["costUsd"] == 0.5
    assert kept[UNANSWERED] >= AHEAD


async def test_an_output_whose_making_was_cut_off_is_counted() -> None:
    budget = Budget(None, None, _stop)

    async def making() -> TargetErrored:
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        return TargetErrored("never")

    with anyio.CancelScope() as scope:
        await budget.own_output(making)
    assert budget.break_off() == {"unansweredOutputs": 1}


async def test_calls_that_were_written_down_are_sent_while_the_next_are_being_written() -> None:
    written, begun = anyio.Event(), list[int]()
    sent = 0

    async def write_down(_spent: dict[str, float]) -> None:
        begun.append(sent)
        await written.wait()

    async def send() -> None:
        nonlocal sent
        await budget.reserve(CALL)
        sent += 1

    budget = Budget(None, None, _stop, write_down=write_down)
    written.set()
    for _ in range(4 * AHEAD):
        await send()
    written = anyio.Event()
    writes, writing, sent_meanwhile = len(begun), 0, 0
    async with anyio.create_task_group() as calls:
        for _ in range(8 * AHEAD):
            calls.start_soon(send)
        await anyio.wait_all_tasks_blocked()
        writing, sent_meanwhile = len(begun) - writes, sent - begun[-1]
        written.set()
    assert writing == 1, "one caller writes for all"
    assert 0 < sent_meanwhile < 8 * AHEAD, "those that were told of before are sent meanwhile, the others wait"
    assert sent == 12 * AHEAD
    assert len(begun) <= writes + 3
