"""The one place with concurrency: bounded streams from the units to the workers, and from the workers to the writer."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from minions_evals_mcp.domain.neighbours import ApprovalRequest
from minions_evals_mcp.domain.outcomes import (
    Awaiting,
    Ended,
    Failed,
    JudgeErrored,
    Passed,
    TargetErrored,
    UnitKey,
)
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.engine.budget import HaltedError
from minions_evals_mcp.engine.conclude.case_regressions import tell_case_regressions
from minions_evals_mcp.engine.judge.kept_verdicts import vet_written
from minions_evals_mcp.engine.judge.yardstick import ByNothing, Measure
from minions_evals_mcp.engine.outbox import EVAL_AGENT, PEOPLE
from minions_evals_mcp.engine.run.units import TOGETHER, Bench, Seen, Unit, carry_out, concluded, output_of
from minions_evals_mcp.engine.seals.guard import hushed, hushed_ending
from minions_evals_mcp.errors import EvalsError, ungrouped
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store import unit_rows
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import Ticket
from minions_evals_mcp.store.events import Event, append, tell
from minions_evals_mcp.store.unit_rows import Ending, UnitRows, outcome_of

BREAKER = 12
"""So many units in a row that end in the instrument's error, and the run stops: it is the instrument.

Once an output was judged, only errors count that nothing about the output explains: a judge may decline single outputs.
"""

GATHERED_S = 0.01
"""So long an output waits for others that are judged by rule with it: a page of three costs little more than one output."""
_OF_THE_INSTRUMENT = JudgeErrored, TargetErrored
_JUDGED = Passed, Failed, UnitRows
T = TypeVar("T")
Progress = Callable[[Outcome], Awaitable[None]]
PageProgress = Callable[[Sequence[Outcome]], Awaitable[None]]


def _nothing() -> None:
    """Nothing else stops the run."""


def _left_open(units: Sequence[Unit]) -> None:
    """Nobody counts the units that stay open."""
    del units


@dataclass(slots=True, eq=False)
class Switch:
    """Stops the feeding of a run; what is in flight ends by itself unless `at_once`."""

    reason: str = ""
    instrument: bool = False
    of_target: bool = False
    """Whether the instrument's error is the target's, not a judge's."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    look: Callable[[], object] = _nothing
    """Called whenever outputs were made or judged: stops the run where something else says so, as its clock."""

    @property
    def is_off(self) -> bool:
        """Returns whether no further unit may start."""
        return bool(self.reason)

    def stop(self, reason: str) -> None:
        """No further unit starts; the first reason stands."""
        self.reason = self.reason or reason

    def break_off(self, reason: str, *, of_target: bool) -> None:
        """The instrument is broken: stop, and give up what is in flight."""
        self.stop(reason)
        self.instrument, self.of_target = True, of_target
        self.scope.cancel()


@dataclass(slots=True, eq=False)
class Health:
    """Tells a broken instrument from single failures."""

    switch: Switch
    judged: bool = False
    errors_in_a_row: int = 0
    counts: Counter[Outcome] = field(default_factory=Counter[Outcome])
    failed: int = 0
    left: Callable[[Sequence[Unit]], object] = _left_open
    """Is told of units that are not supported after all: they stay open until the run is resumed."""

    def saw(self, ended: Ending) -> None:
        """Counts an ending; breaks the run off where the instrument can be blamed."""
        self.counts[outcome_of(ended)] += 1
        if not isinstance(ended, _OF_THE_INSTRUMENT):
            self.failed += isinstance(ended, Failed) or (isinstance(ended, UnitRows) and ended.failure is not None)
            self.errors_in_a_row = 0
            self.judged = self.judged or isinstance(ended, _JUDGED)
            return
        self.errors_in_a_row = self.errors_in_a_row + 1 if ended.unanswered or not self.judged else 0
        of_target = isinstance(ended, TargetErrored)
        if ended.fatal:
            self.switch.break_off(ended.reason, of_target=of_target)
        elif self.errors_in_a_row >= BREAKER:
            why = f"{self.errors_in_a_row} units in a row failed, the last with: {ended.reason}"
            self.switch.break_off(why, of_target=of_target)


Endings = Sequence[tuple[Unit, Ending]]
"""Units and how they ended; one that was judged may come as the rows that it becomes."""
Pages = AsyncIterator[list[Unit]]
Made = tuple[Unit, Seen]


@frozen_type
class DeferredWrite:
    """A write that is committed with the endings that were sent before it, or after them, never earlier."""

    work: Callable[[Db], None]


Done = Endings | DeferredWrite
"""What is sent to the writer, which keeps the order."""


class Place(Protocol):
    """The place where units are carried out: in this process, or by others."""

    async def __call__(
        self, bench: Bench, pages: Pages, done: MemoryObjectSendStream[Done], *, health: Health, workers: int
    ) -> None:
        """Carries the units out, `workers` pages at a time, and sends on how they ended; returns when the last one has."""
        ...


async def here(
    bench: Bench, pages: Pages, done: MemoryObjectSendStream[Endings], *, health: Health, workers: int
) -> None:
    """Carries the units out in this process.

    Outputs that are made one by one and judged by rule are judged together with those that come within a moment.
    Nothing that stops the run says what sealed cases say.
    """
    made_in, made_out = anyio.create_memory_object_stream[Made](TOGETHER)
    with hushed(bench.seal), ungrouped():
        async with anyio.create_task_group() as working:
            todo = _Todo(pages, health.switch)
            taking = anyio.Lock(fast_acquire=True)
            for _ in range(workers):
                working.start_soon(_work, bench, todo, made_in.clone(), done, health)
                working.start_soon(_judge, bench, made_out.clone(), taking, done, health)
            made_in.close()
            made_out.close()


async def run_units(
    bench: Bench, pages: Pages, *, health: Health, workers: int, progress: PageProgress, place: Place = here
) -> None:
    """Has the units carried out; returns when every ending is committed."""
    done_in, done_out = anyio.create_memory_object_stream[Done](TOGETHER)
    try:
        with ungrouped():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_record_all, bench, done_out, progress)
                with health.switch.scope:
                    async with done_in:
                        await place(bench, pages, done_in, health=health, workers=workers)
    except BaseException:
        with anyio.CancelScope(shield=True), suppress(EvalsError):  # the run ends with what broke it
            await bench.judging.kept.settle()
        raise
    await bench.judging.kept.settle()


@dataclass(slots=True, eq=False)
class _Todo:
    """The pages to be carried out, for several that take them: the one whose turn it is waits for the next."""

    pages: Pages
    switch: Switch
    taking: anyio.Lock = field(default_factory=partial(anyio.Lock, fast_acquire=True))

    async def next(self) -> list[Unit] | None:
        """The next page; None once there is none, or no further unit may start."""
        async with self.taking:
            return None if self.switch.is_off else await anext(self.pages, None)


async def _work(
    bench: Bench,
    todo: _Todo,
    made: MemoryObjectSendStream[Made],
    done: MemoryObjectSendStream[Endings],
    health: Health,
) -> None:
    async with made:
        while (page := await todo.next()) is not None:
            if health.switch.is_off:
                health.left(page)
                continue
            try:
                if bench.judging.panel.asks_any_model(page[0].measure) or page[0].is_at_hand(bench):
                    async with bench.turn if bench.is_prompt(page) else nullcontext():
                        endings = await carry_out(bench, page)
                    await _ended(bench, endings, done, health)
                else:
                    await _handed_over(made, (page[0], await output_of(bench, page[0])))
                    health.switch.look()
            except HaltedError:
                health.left(page)


async def _judge(
    bench: Bench,
    made: MemoryObjectReceiveStream[Made],
    taking: anyio.Lock,
    done: MemoryObjectSendStream[Endings],
    health: Health,
) -> None:
    """Judges what was made by rule, as many outputs at once as are there."""
    async with made:
        while page := await _taken(bench, made, taking):
            try:
                await _ended(bench, await concluded(bench, page), done, health)
            except HaltedError:
                health.left([unit for unit, _ in page])


async def _taken(bench: Bench, made: MemoryObjectReceiveStream[Made], taking: anyio.Lock) -> list[Made]:
    """Returns what was made and is to be judged together; nothing once no more is made.

    One judge takes at a time, so that what comes within a moment is one page, not one output for each of those who wait. What a
    function of the user's checks may wait for that function: it is taken singly.
    """
    async with taking:
        first = await next_of(made)
        if first is None:
            return []
        if bench.engine.own_checks:
            return [first]
        await anyio.sleep(GATHERED_S)
        return [first, *_there(made, TOGETHER - 1)]


async def _ended(
    bench: Bench, endings: Sequence[tuple[Unit, Ended]], done: MemoryObjectSendStream[Endings], health: Health
) -> None:
    if bench.seal is not None:
        endings = [(unit, hushed_ending(ended)) for unit, ended in endings]
    for _, ended in endings:
        health.saw(ended)
    health.switch.look()
    await _handed_over(done, endings)


async def _handed_over(stream: MemoryObjectSendStream[T], item: T) -> None:
    """Sends it, without a turn of the loop where there is room for it."""
    try:
        try:
            stream.send_nowait(item)
        except anyio.WouldBlock:
            await stream.send(item)
    except anyio.BrokenResourceError:
        await anyio.lowlevel.checkpoint()  # who would take it was cancelled, and so is this: the run is broken off
        raise


async def next_of(stream: MemoryObjectReceiveStream[T]) -> T | None:
    """Returns what is received next, without a turn of the loop where it is there; None once nothing more is sent."""
    try:
        return stream.receive_nowait()
    except anyio.WouldBlock:
        with suppress(anyio.EndOfStream):
            return await stream.receive()
    except anyio.EndOfStream:
        pass
    return None


def _there(stream: MemoryObjectReceiveStream[T], most: int) -> Iterator[T]:
    """Yields what can be received without waiting."""
    for _ in range(most):
        try:
            yield stream.receive_nowait()
        except (anyio.WouldBlock, anyio.EndOfStream):
            return


def _record(
    db: Db, *, bench: Bench, endings: Endings, after: Sequence[Ticket[None]], behind: Sequence[DeferredWrite] = ()
) -> None:
    vet_written(after)  # an ending without its output would be all that is ever known of it
    at = bench.engine.clock()
    rows = [_rows(unit, end) for unit, end in endings]
    unit_rows.write(db, rows, at=at)
    tell_case_regressions(db, rows, rule=bench.engine.skills.run_test_case.parameters, at=at)
    for unit, end in endings:
        if isinstance(end, Awaiting) and end.asks == "human":
            request_approval(db, unit.key, unit.measure, end, new_id=f"{unit.key.run_id}:approval", at=at)
    for write in behind:
        write.work(db)


def _rows(unit: Unit, ended: Ending) -> UnitRows:
    return ended if isinstance(ended, UnitRows) else unit_rows.rows_of(unit.key, unit.measure.case.id, ended)


async def _record_all(bench: Bench, done: MemoryObjectReceiveStream[Done], progress: PageProgress) -> None:
    """Writes what has ended, all that is there in one go, and says so once it is committed."""
    async with done:
        while (first := await next_of(done)) is not None:
            async with bench.turn:
                endings, behind = parted([first, *received(done)])
                record = partial(_record, bench=bench, after=[*bench.judging.kept.pending])
                try:
                    await bench.engine.store.write(partial(record, endings=endings, behind=behind))
                except EvalsError:
                    for (
                        ending
                    ) in endings:  # one by one, so that one that the store refuses costs no other; raises for that one
                        await bench.engine.store.write(partial(record, endings=[ending]))
                    await bench.engine.store.write(partial(record, endings=(), behind=behind))
            await progress([outcome_of(ended) for _, ended in endings])


def received(done: MemoryObjectReceiveStream[Done]) -> list[Done]:
    """Returns what was sent by now, as much as is written in one go."""
    return [*_there(done, TOGETHER)]


def parted(sent: Sequence[Done]) -> tuple[Endings, list[DeferredWrite]]:
    """The endings, and the writes that go behind them."""
    endings = [ending for part in sent if not isinstance(part, DeferredWrite) for ending in part]
    return endings, [part for part in sent if isinstance(part, DeferredWrite)]


def request_approval(db: Db, key: UnitKey, measure: Measure, ended: Awaiting, *, new_id: str, at: datetime) -> None:
    """Queues a request that a person judges the output; once for each packet."""
    nothing = isinstance(measure.yardstick, ByNothing)
    fields = ApprovalRequest(
        title=f"{'Accept as baseline' if nothing else 'Judge'}: {measure.case.title}"[:200],
        description="The case has no rubric, assertion or expected output: accept this output as the baseline, or write a rubric."
        if nothing
        else "Score every criterion and give a reason: at the command line, on the page, or over MCP.",
        requested_by=EVAL_AGENT,
        requested_at=at,
        context_ref_type="run",
        context_ref_id=key.job_id,
        payload={"runId": key.job_id, "packet": ended.packet},
    )
    record = Record(new_id, fields, fields.title, at, at)
    if tell(db, record, key=f"approval:{key.run_id}:{ended.packet_digest}", addressee=PEOPLE):
        append(
            db,
            Event(
                "approval-requested", "approval-request", new_id, {"runId": key.job_id, "testCaseId": measure.case.id}
            ),
            at=at,
        )
