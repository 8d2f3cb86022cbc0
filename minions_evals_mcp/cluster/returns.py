"""Results from the workers of a run: endings, outputs and verdicts to be kept, questions, signs of life."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import assert_never

from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from minions_evals_mcp.cluster.channel import Channels
from minions_evals_mcp.cluster.orders import (
    Alive,
    Answer,
    AskCall,
    Back,
    CallRequest,
    Freed,
    KeepOutput,
    KeepTalk,
    KeepVerdict,
    Matter,
    Message,
    Orders,
    OwnCost,
    Renewed,
    SettledCall,
    WorkerError,
)
from minions_evals_mcp.cluster.out import Out
from minions_evals_mcp.cluster.permits import Permits
from minions_evals_mcp.engine.run.pipeline import DeferredWrite, Done, Endings, Health
from minions_evals_mcp.engine.run.units import Bench
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.store import leases
from minions_evals_mcp.store.jobs import UnitRow
from minions_evals_mcp.store.leases import ChunkLease, LeaseEnding

Heard = tuple[str, Matter]
"""What a worker sent, and which."""


@dataclass(slots=True, eq=False)
class Returns:
    """Does what workers say, and answers them."""

    channels: Channels
    bench: Bench
    orders: Orders
    done: MemoryObjectSendStream[Done]
    health: Health
    permits: Permits
    out: Out
    heard: MemoryObjectSendStream[Heard]
    signs: dict[str, Alive] = field(default_factory=dict[str, Alive])
    """The newest sign of life of each worker that was not answered yet."""

    def hear(self, worker: str, message: Message) -> None:
        """Takes a message as it arrives: that its worker lives counts at once, whatever is still to be done before it."""
        match message:
            case Alive():
                self.out.heard(message.chunks)
                self.signs[worker] = message
            case Back():
                self.out.heard([message.chunk])
                self.heard.send_nowait((worker, message))
            case _:
                self.heard.send_nowait((worker, message))

    async def listen(self, tasks: TaskGroup, heard: MemoryObjectReceiveStream[Heard]) -> None:
        """Does what the messages of the workers are about, in order; raises what broke the side of one."""
        async for worker, message in heard:
            match message:
                case Back():
                    await self.take(message)
                case KeepOutput():
                    await self._keep(worker, message.row)
                case KeepVerdict() | KeepTalk():
                    await self._keep_paid(message)
                case CallRequest():
                    tasks.start_soon(self._request_output, worker, message)
                case SettledCall():
                    self.permits.settle(worker, message.call, message.reply)
                case Freed():
                    self.permits.free(worker, message.call)
                case OwnCost():
                    self.permits.budget.count_own(message.usd)
                case WorkerError():
                    raise (BadInputError if message.is_bad_input else InstrumentError)(
                        message.message, remedy=message.remedy
                    )
                case _:
                    assert_never(message)

    async def _keep_paid(self, message: KeepVerdict | KeepTalk) -> None:
        """Keeps a verdict, or how far a conversation is."""
        if isinstance(message, KeepTalk):
            await self.bench.judging.kept.keep_talk(message.row)
        else:
            await self.bench.judging.kept.keep(message.key, message.about, message.answer, message.at)

    async def take(self, back: Back) -> None:
        """Passes the endings on of units that are still leased so; what comes after its lease was lost is another's by now."""
        sent = self.out.chunks.get(back.chunk)
        if sent is None:
            return
        endings = [(sent.missing.pop(key), ended) for key, ended in back.ended if key in sent.missing]
        await self.pass_on(endings)
        sent.left.update(back.left)
        sent.look()
        self.out.change(sent.lease.worker)
        if self.health.switch.is_off:
            self.out.change_all()

    async def _keep(self, worker: str, row: UnitRow) -> None:
        """Keeps an output; should its worker be lost, the unit goes out again with it."""
        sent = self.out.missing(worker, row.key)
        if sent is not None and row.observed is not None:
            sent.missing[row.key] = replace(sent.missing[row.key], kept=row.observed)
            await self.bench.judging.kept.keep_output(row)

    async def pass_on(self, endings: Endings) -> None:
        """Has endings written, once the run's health was told of them."""
        for _, ended in endings:
            self.health.saw(ended)
        self.health.switch.look()
        if endings:
            await self.done.send(endings)

    async def end(self, lease: ChunkLease, ending: LeaseEnding, returned: int) -> None:
        """Has the lease end once all that was passed on before is written: what is neither out nor kept is not begun."""
        at = self.bench.engine.clock()
        await self.done.send(DeferredWrite(partial(leases.end, lease=lease, ending=ending, returned=returned, at=at)))

    async def _request_output(self, worker: str, output_request: CallRequest) -> None:
        question = output_request.question
        if isinstance(question, AskCall):
            await self.permits.allow(worker, question.call, partial(self._answer, worker, output_request.number))
        else:
            await self._answer(worker, output_request.number, await self.bench.judging.kept.stored(question.wanted))

    async def _answer(self, worker: str, number: int, answer: Answer) -> None:
        self.channels.tell(worker, (number, answer))

    async def renew(self) -> None:
        """Renews the leases of what workers say that they still have, and tells each what it has no more."""
        signs, self.signs = self.signs, {}
        held = [sent.lease for alive in signs.values() for sent in self.out.several(alive.chunks)]
        if held:
            until = self.bench.engine.clock() + timedelta(seconds=self.orders.lease_s)
            await self.bench.judging.kept.queue(partial(leases.renew, several=held, until=until))
        for worker, alive in signs.items():
            gone = set(alive.chunks) - {lease.id for lease in held}
            self.channels.tell(worker, Renewed(alive.at, gone))
