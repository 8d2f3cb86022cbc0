"""What the coordinator makes of chunks that end, and of workers that are lost, in an order that a test chooses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from minions_evals_mcp.cluster import place
from minions_evals_mcp.cluster.orders import Back
from minions_evals_mcp.domain.outcomes import Skipped
from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.pipeline import Done, Health, Pages, Place
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.engine.run.units import Bench
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.store.connection import Db
from tests.cluster.script import Given, Script
from tests.hang import HANG_S
from tests.workshop import fleet

REQUEST = RunRequest(subject_id="b", target="python:tests.cluster.napping:nap", key="k")


@dataclass(slots=True, eq=False)
class Held:
    """A place whose endings come to the writer once they are let; there is room for so many meanwhile."""

    place: Place
    room: float
    let: anyio.Event = field(default_factory=anyio.Event)
    waiting: MemoryObjectReceiveStream[Done] | None = None

    async def __call__(
        self, bench: Bench, pages: Pages, done: MemoryObjectSendStream[Done], *, health: Health, workers: int
    ) -> None:
        """Carries the units out there."""
        send, self.waiting = anyio.create_memory_object_stream[Done](self.room)
        async with self.waiting, anyio.create_task_group() as tasks:
            tasks.start_soon(self._passed_on, self.waiting, done)
            async with send:
                await self.place(bench, pages, send, health=health, workers=workers)

    async def _passed_on(self, waiting: MemoryObjectReceiveStream[Done], done: MemoryObjectSendStream[Done]) -> None:
        await self.let.wait()
        async for part in waiting:
            await done.send(part)

    async def something_waits(self) -> None:
        """Waits until something is there to be let, and nothing else happens."""
        while self.waiting is None or not self._count(self.waiting):  # noqa: ASYNC110  the run sends it
            await anyio.sleep(0.001)
        await anyio.wait_all_tasks_blocked()

    def _count(self, waiting: MemoryObjectReceiveStream[Done]) -> int:
        there = waiting.statistics()
        return there.current_buffer_used + there.tasks_waiting_send


def no_answers(given: Given) -> Back:
    """The chunk is back: the target was not asked about any of it."""
    return Back(given.chunk.id, [(unit.key, Skipped("no answer")) for unit in given.chunk.units])


@asynccontextmanager
async def running(engine: Engine, where: Place) -> AsyncGenerator[list[Outcome]]:
    """A run on that place, and how its units end: none of them is scored."""
    outcomes: list[Outcome] = []

    async def note(outcome: Outcome) -> None:
        outcomes.append(outcome)

    async def run() -> None:
        with pytest.raises(EvalsError, match="no answer"):
            await run_benchmark(engine, REQUEST, progress=note, place=where)

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            yield outcomes


def _nothing(db: Db) -> None:
    del db


async def leases_of(engine: Engine) -> list[tuple[object, ...]]:
    """How the leases of the run end, once all is written that was to be written before."""
    await engine.store.write(_nothing)
    return await engine.store.read(lambda db: db.execute("SELECT ending FROM unit_lease").fetchall())


async def test_a_lease_does_not_end_before_what_came_of_its_units_is_written(engine: Engine) -> None:
    await fleet(engine, 3)
    script = Script({"w1"})
    held = Held(script.cluster(engine), math.inf)
    async with running(engine, held) as outcomes:
        given = await script.has_given(1)
        script.say(given.worker, no_answers(given))
        await held.something_waits()
        assert await leases_of(engine) == [("",)]
        held.let.set()
    assert outcomes == ["skipped"] * 3
    assert await leases_of(engine) == [("returned",)]


async def test_what_a_lost_worker_says_while_its_units_are_on_their_way_to_another_is_not_taken(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "ROOM", 0)
    await fleet(engine, 2)
    script = Script({"w1"})
    held = Held(script.cluster(engine), 0)
    async with running(engine, held) as outcomes:
        given = await script.has_given(1)
        said = no_answers(given)
        script.say("w1", replace(said, ended=said.ended[:1]))
        await held.something_waits()
        script.lose("w1")  # its lease's end waits behind what came before
        await held.something_waits()
        script.say("w1", replace(said, ended=said.ended[1:]))
        await held.something_waits()
        script.workers.add("w2")
        held.let.set()
        again = await script.has_given(2)
        script.say(again.worker, no_answers(again))
    assert outcomes == ["skipped"] * 2, "each once"
    assert await leases_of(engine) == [("lost",), ("returned",)]


async def test_a_worker_whose_connection_ends_is_met_anew_and_one_out_of_reach_works_once_it_is_reached(
    engine: Engine,
) -> None:
    await fleet(engine, 2)
    script = Script({"w1", "far"}, out_of_reach={"far"})
    async with running(engine, script.cluster(engine)) as outcomes:
        given = await script.has_given(1)
        said = no_answers(given)
        script.say("w1", replace(said, ended=said.ended[:1]))
        await anyio.wait_all_tasks_blocked()
        script.ways["w1"].abort()
        again = await script.has_given(2)
        script.lose("w1")
        script.out_of_reach.clear()
        last = await script.has_given(3)
        script.say(last.worker, no_answers(last))
    assert [chunk.worker for chunk in script.given] == ["w1", "w1", "far"]
    assert [unit.key for unit in again.chunk.units] == [key for key, _ in said.ended[1:]]
    assert outcomes == ["skipped"] * 2, "each once"
    assert await leases_of(engine) == [("lost",), ("lost",), ("returned",)]


async def test_a_unit_that_takes_its_workers_down_is_named_and_costs_no_other(engine: Engine) -> None:
    await fleet(engine, 9)
    script, sizes = Script({"w1"}), list[int]()
    async with running(engine, script.cluster(engine)) as outcomes:
        for number in range(1, 2 * 11 + 1):
            given = await script.has_given(number)
            sizes.append(len(given.chunk.units))
            if any(unit.key.position == 7 for unit in given.chunk.units):
                script.lose(given.worker)
                script.workers.add(f"{given.worker}+")
            else:
                script.say(given.worker, no_answers(given))
    assert Counter(outcomes) == {"skipped": 2 * 8, "target-error": 2}, "what failed is tried once more"
    assert sizes == [9, 9, *[1] * 9] * 2, "what was lost twice goes out again unit by unit"
    rows = await engine.store.read(
        lambda db: db.execute("SELECT case_id, reason FROM unit ORDER BY position").fetchall()
    )
    assert dict(rows) == {f"c{n}": "no answer" for n in range(9)} | {
        "c7": "the worker that carried it out was lost, 3 times"
    }
