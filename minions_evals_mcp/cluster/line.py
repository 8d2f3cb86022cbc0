"""A worker's line to its coordinator: what it tells, what it asks, and the verdicts and the budget that are kept over there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar

import anyio

from minions_evals_mcp.cluster.orders import (
    Answer,
    AskCall,
    AskKept,
    Back,
    CallRequest,
    Freed,
    KeepOutput,
    KeepTalk,
    KeepVerdict,
    Message,
    OwnCost,
    Question,
    SettledCall,
)
from minions_evals_mcp.domain.outcomes import Failed, NotJudgeable, Passed, UnitKey, Verdict
from minions_evals_mcp.engine.budget import Budget, HaltedError, PricedCall
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts, Wanted
from minions_evals_mcp.engine.run.units import Unit
from minions_evals_mcp.judges.task import Said
from minions_evals_mcp.models.replies import FailedReply as FailedCall
from minions_evals_mcp.models.replies import Reply
from minions_evals_mcp.store.jobs import UnitRow, VerdictKey
from minions_evals_mcp.store.talks import TalkRow
from minions_evals_mcp.store.unit_rows import Ending, rows_of

UNHEARD = "the connection with the coordinator ended."
GROUPED_S = 0.03
"""So long what is sent back waits for more of it."""


@dataclass(slots=True, eq=False)
class _Open:
    """A question that waits for its answer; None where none will come."""

    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None


@dataclass(slots=True, eq=False)
class CoordinatorConnection:
    """The way to the coordinator: what is told goes in groups, in order; what is asked waits for its answer."""

    post: Callable[[list[Message]], None]
    told: list[Message] = field(default_factory=list[Message])
    outputs: dict[UnitKey, UnitRow] = field(default_factory=dict[UnitKey, UnitRow])
    """Outputs that were made since the last group; one that is judged by the next goes with its verdict."""
    ended: dict[str, list[tuple[UnitKey, Ending]]] = field(default_factory=dict[str, list[tuple[UnitKey, Ending]]])
    """How units ended since the last group, by chunk."""
    waiting: dict[int, _Open] = field(default_factory=dict[int, _Open])
    wake: anyio.Event = field(default_factory=anyio.Event)
    asked: int = 0
    is_cut: bool = False
    """Whether nobody hears what is asked."""

    def tell(self, message: Message) -> None:
        """Sends it before long."""
        self.told.append(message)
        self.wake.set()

    def keep_output(self, row: UnitRow) -> None:
        """Sends an output before long, alone where it is not judged by then."""
        self.outputs[row.key] = row
        self.wake.set()

    def finish(self, chunk: str, unit: Unit, ended: Ending) -> None:
        """Sends before long how a unit ended."""
        self.ended.setdefault(chunk, []).append((unit.key, self.ready(unit, ended)))
        self.wake.set()

    def ready(self, unit: Unit, ended: Ending) -> Ending:
        """The ending as it is sent: what was judged as the rows that it becomes, with an output that was not sent yet."""
        if not isinstance(ended, Passed | Failed):
            return ended
        output = self.outputs.pop(unit.key, None)
        return rows_of(unit.key, unit.measure.case.id, ended, observed=output and output.observed)

    async def ask(self, question: Question) -> Answer:
        """The coordinator's answer; raises `HaltedError` where none will come, for the unit is another's by then."""
        if self.is_cut:
            raise HaltedError(UNHEARD)
        self.asked += 1
        number, waiting = self.asked, _Open()
        self.waiting[number] = waiting
        self.told.append(CallRequest(number, question))
        self.flush()
        await waiting.done.wait()
        if waiting.answer is None:
            raise HaltedError(UNHEARD)
        return waiting.answer

    def answered(self, number: int, answer: Answer) -> None:
        """Hands an answer to who waits for it."""
        waiting = self.waiting.pop(number, None)
        if waiting is not None:
            waiting.answer = answer
            waiting.done.set()

    def cut(self) -> None:
        """The connection has ended: an answer may be lost with it, so nobody waits for one any more."""
        self.is_cut = True
        waiting, self.waiting = self.waiting, {}
        for question in waiting.values():
            question.done.set()

    def join(self) -> None:
        """There is a connection; what was asked over another one gets no answer."""
        self.cut()
        self.is_cut = False

    def flush(self) -> None:
        """Sends what was told so far."""
        outputs, ended = self.outputs.values(), self.ended.items()
        group = [*map(KeepOutput, outputs), *self.told, *(Back(chunk, endings) for chunk, endings in ended)]
        self.outputs, self.told, self.ended = {}, [], {}
        if group:
            self.post(group)

    async def serve(self) -> None:
        """Sends what is told, a little at a time."""
        while True:
            await self.wake.wait()
            await anyio.sleep(GROUPED_S)
            self.wake = anyio.Event()
            self.flush()


@dataclass(slots=True, eq=False)
class SentVerdicts(KeptVerdicts):
    """Verdicts and outputs are kept by the coordinator, and asked for there."""

    waits: ClassVar = False
    line: CoordinatorConnection = field(kw_only=True)

    async def stored(self, wanted: Sequence[Wanted]) -> list[tuple[Said, datetime] | None]:
        """Returns what the coordinator's store has of each."""
        if not wanted:
            return []
        verdicts = await self.line.ask(AskKept(wanted))
        assert isinstance(verdicts, list)
        return verdicts

    async def keep(self, key: UnitKey, about: VerdictKey, answer: Verdict | NotJudgeable, at: datetime) -> None:
        """Sends a verdict to be kept."""
        self.line.tell(KeepVerdict(key, about, answer, at))

    async def begun_talk(self, key: UnitKey) -> TalkRow | None:
        """Nothing: a worker is not told of conversations that were cut off, and has them anew."""
        del key
        return None

    async def keep_talk(self, row: TalkRow) -> None:
        """Sends how far a conversation is to be kept."""
        self.line.tell(KeepTalk(row))

    async def keep_output(self, output: UnitRow) -> None:
        """Sends an output to be kept, before it is judged."""
        self.line.keep_output(output)


@dataclass(slots=True, eq=False)
class AskedBudget(Budget):
    """A budget that the coordinator keeps: it is asked before each call."""

    line: CoordinatorConnection = field(kw_only=True)

    async def reserve(self, call: PricedCall) -> None:
        """Waits until the coordinator has set the call's cost aside; raises `HaltedError` where it will not."""
        refused = await self.line.ask(AskCall(call))
        if refused:
            raise HaltedError(str(refused))

    def settle(self, call: PricedCall, reply: Reply) -> None:
        """Tells what the call did cost."""
        self.line.tell(SettledCall(call, reply if isinstance(reply, FailedCall) else replace(reply, text="")))

    def free(self, call: PricedCall) -> None:
        """Tells that the call is over."""
        self.line.tell(Freed(call))

    async def begin_own(self) -> None:
        """Lets it be made: the coordinator stops handing out units once their cost has reached the cap."""

    def end_own(self, cost_usd: float | None) -> None:
        """Tells what the output cost, where a cap or a sum asks for it."""
        if cost_usd or (cost_usd is None and self.max_cost_usd is not None):
            self.line.tell(OwnCost(cost_usd))
