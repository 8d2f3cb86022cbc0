"""Caps that stop before the spend: dollars and seconds, over everything that a run calls."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio

from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.prices import estimate_usd, price_known
from minions_evals_mcp.models.replies import FailedReply, FaultKind, Reply
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.next_steps import argument

AHEAD = 16
"""So many calls are written down as possibly sent, before the first of them is; as many as are under way where those are more."""
UNANSWERED = "unansweredCalls"
"""Calls that may have been sent, and so paid, and of which nothing is kept."""
SLACK = 1e-9
"""Sums of dollars are as exact as floats: this much over a cap is not over it."""

HIGHER = "a higher cap resumes it"
"""What a run that a cost cap stopped says of its cap: under the same one it would stop again."""


class HaltedError(Exception):
    """No further call may be started; the unit stays open and is done when the run is resumed."""


class PricedCall(NamedTuple):
    """A call to a provider, and what it may cost at the most."""

    provider: str
    estimate_usd: float


@dataclass(slots=True, eq=False)
class OwnCosts:
    """The costs of outputs as the user's own application says them: all so far, the dearest, how many are under way.

    `untold` counts the outputs of which it says no cost, `cut_off` those whose making was cancelled.
    """

    made: int = 0
    untold: int = 0
    cut_off: int = 0
    in_flight: int = 0
    usd: float = 0.0
    dearest: float = 0.0


@dataclass(slots=True, eq=False)
class Budget:
    """The amount that a run may still spend, and what it has spent: `earlier_usd` by the starts before, the rest by this one.

    `stop` is called with the reason when a cap is reached. `write_down` keeps `news` before calls are sent that it tells of, so
    that a kill leaves none uncounted; `lost` counts calls of a start that was killed before it knew what one costs.
    """

    max_cost_usd: float | None
    max_seconds: float | None
    stop: Callable[[str], None]
    started: float = field(default_factory=time.monotonic)
    in_flight: int = 0
    reserved: float = 0.0
    settled: anyio.Event = field(default_factory=anyio.Event)
    earlier_usd: float = 0.0
    spent_usd: float = 0.0
    write_down: Callable[[dict[str, float]], Awaitable[object]] | None = None
    asked: int = 0
    announced: int = 0
    noted: int = 0
    sent: int = 0
    announcing: anyio.Event | None = None
    lost: int = 0
    calls: int = 0
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    unpriced: int = 0
    faults: Counter[FaultKind] = field(default_factory=Counter[FaultKind])
    told: dict[str, float] = field(default_factory=dict[str, float])
    own: OwnCosts = field(default_factory=OwnCosts)

    async def own_output(self, making: Callable[[], Awaitable[Observed | TargetErrored]]) -> Observed | TargetErrored:
        """Returns what the user's own application makes, once the cap lets it; what it says that this cost is counted."""
        await self.begin_own()
        cost_usd: float | None = 0.0
        try:
            seen = await making()
            cost_usd = seen.cost_usd if isinstance(seen, Observed) else 0.0
        except anyio.get_cancelled_exc_class():
            self.own.cut_off += 1
            raise
        finally:
            self.end_own(cost_usd)
        return seen

    async def begin_own(self) -> None:
        """Lets the user's own application make one more output; `end_own` follows, whatever came of it.

        What it costs is known only afterwards: under a cap the first is made alone, and each further one once the dearest
        so far fits beside those under way; raises `HaltedError` where it does not.
        """
        while self.max_cost_usd is not None and self.own.in_flight and self._exceeds_with(self.own):
            await self.settled.wait()
        if self.max_cost_usd is not None and self._exceeds_with(self.own):
            self._halt(self._own_reason())
        self.own.in_flight += 1

    def end_own(self, cost_usd: float | None) -> None:
        """Counts what an output cost, None where that was not said; a cap that it exceeds stops the run."""
        self.own.in_flight -= 1
        self.count_own(cost_usd)
        self._wake()

    def count_own(self, cost_usd: float | None) -> None:
        """Adds what an output cost that was made already."""
        self.own.made += 1
        if cost_usd is None:
            self.own.untold += 1
            return
        self.own.usd += cost_usd
        self.own.dearest = max(self.own.dearest, cost_usd)
        self.spent_usd += cost_usd
        if cost_usd and self._exceeds(-SLACK):
            self.stop(self._own_reason())

    def _exceeds_with(self, own: OwnCosts) -> bool:
        if own.in_flight and not own.made:
            return True
        return self._exceeds((own.in_flight + 1) * own.dearest - SLACK if own.dearest else SLACK)

    def _own_reason(self) -> str:
        spent = f"${self.earlier_usd + self.spent_usd:.4f} spent, as reported by the target"
        return f"the next output might exceed the cost cap of ${self.max_cost_usd:g} ({spent}); {HIGHER}"

    def take_up(self, spent: Mapping[str, float]) -> None:
        """Counts what the starts before have spent; what was under way when one was killed, by what a call cost so far."""
        self.earlier_usd, calls = spent.get("costUsd", 0.0), spent.get("calls", 0)
        unanswered = int(spent.get(UNANSWERED, 0))
        if calls:
            self.earlier_usd += unanswered * (self.earlier_usd - spent.get("ownCostUsd", 0.0)) / calls
        else:
            self.lost = unanswered

    def break_off(self) -> dict[str, float]:
        """The `news` at the end of a start: no further call is sent, and what was and has no answer gets none any more."""
        self.asked = self.announced = self.noted = self.sent
        return self.news()

    async def _announce(self) -> None:
        """Has it written down that the next call may be sent; one caller does so for all, early enough that the others need not wait."""
        if self.write_down is None:
            return
        self.asked += 1
        mine = self.asked
        while mine + self.in_flight // 4 > self.announced:
            if self.announcing is None:
                await self._noted(self.write_down, max(self.asked, self.announced + max(AHEAD, self.in_flight)))
            elif mine > self.announced:
                await self.announcing.wait()
            else:
                return

    async def _noted(self, write_down: Callable[[dict[str, float]], Awaitable[object]], sent: int) -> None:
        """Has so many calls noted; what could not be written is news still, and no interruption leaves in doubt whether it was."""
        told_amounts, noted, self.noted = self.told, self.noted, sent
        written = self.announcing = anyio.Event()
        with anyio.CancelScope(shield=True):
            try:
                await write_down(self.news())
                self.announced = sent
            except BaseException:
                self.told, self.noted = told_amounts, noted
                raise
            finally:
                self.announcing = None
                written.set()

    async def reserve(self, call: PricedCall) -> None:
        """Takes the estimate of the next call out of the budget; raises `HaltedError` where it does not fit.

        A call in flight mostly costs less than was set aside for it, so one that does not fit waits until none is.
        """
        await self._announce()
        estimate = call.estimate_usd
        self.earlier_usd, self.lost = self.earlier_usd + self.lost * estimate, 0
        while self._exceeds(estimate) and self.reserved > 0:
            await self.settled.wait()
        if reason := self.look_at_clock():
            raise HaltedError(reason)
        if self._exceeds(estimate):
            spent = f"${self.earlier_usd + self.spent_usd:.4f} spent, ${estimate:.4f} set aside for one call"
            self._halt(f"the next call might exceed the cost cap of ${self.max_cost_usd:g} ({spent}); {HIGHER}")
        self.in_flight += 1
        self.sent += 1
        self.reserved += estimate

    def look_at_clock(self) -> str:
        """Stops the run where its time is up, and says so; empty where it is not."""
        if self.max_seconds is None or time.monotonic() - self.started < self.max_seconds:
            return ""
        reason = f"the time cap of {self.max_seconds:g} s is reached"
        self.stop(reason)
        return reason

    def _exceeds(self, estimate: float) -> bool:
        return (
            self.max_cost_usd is not None
            and self.earlier_usd + self.spent_usd + self.reserved + estimate > self.max_cost_usd
        )

    def free(self, call: PricedCall) -> None:
        """Gives back what was set aside for a call, and wakes those who wait for it."""
        self.in_flight -= 1
        self.reserved = self.reserved - call.estimate_usd if self.in_flight else 0.0
        self._wake()

    def _wake(self) -> None:
        self.settled.set()
        self.settled = anyio.Event()

    def settle(self, call: PricedCall, reply: Reply) -> None:
        """Counts what the call did cost; an attempt that failed after it was sent may have been billed too."""
        self.calls += 1
        self.attempts += reply.attempts
        self.faults.update(reply.faults)
        billed_attempts = call.estimate_usd * (reply.attempts - 1)
        if isinstance(reply, FailedReply):
            self.spent_usd += call.estimate_usd if self.max_cost_usd is not None else 0.0
            return
        if reply.usage is not None:
            self.input_tokens += reply.usage.input_tokens
            self.output_tokens += reply.usage.output_tokens
        if reply.cost_usd is None:
            self.unpriced += 1
        self.spent_usd += (reply.cost_usd or 0.0) + (billed_attempts if self.max_cost_usd is not None else 0.0)

    def _halt(self, reason: str) -> None:
        self.stop(reason)
        raise HaltedError(reason)

    def news(self) -> dict[str, float]:
        """Returns what was spent since this was last asked, for the job's record."""
        now = self._spent()
        spent = {
            name: now.get(name, 0.0) - self.told.get(name, 0.0)
            for name in (now | self.told)
            if now.get(name) != self.told.get(name)
        }
        self.told = now
        return spent

    def _spent(self) -> dict[str, float]:
        spent: dict[str, float] = {
            "costUsd": self.spent_usd, "calls": self.calls, "attempts": self.attempts, "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens, "unpricedCalls": self.unpriced, "ownCostUsd": self.own.usd,
            UNANSWERED: max(0, self.noted - self.calls),
            "untoldCosts": self.own.untold if self.max_cost_usd is not None else 0, "unansweredOutputs": self.own.cut_off,
        }  # fmt: skip
        spent.update({f"fault:{kind}": count for kind, count in self.faults.items()})
        return {name: amount for name, amount in spent.items() if amount}


def uncapped() -> Budget:
    """A budget without caps."""
    return Budget(None, None, _never)


def _never(reason: str) -> None:
    """Without a cap nothing is stopped."""
    raise AssertionError(reason)


@frozen_type
class Metered:
    """A provider's client whose every call is taken out of a budget first.

    `open` gives the client; it is asked at the first call only, for importing an SDK takes about a second.
    """

    provider: str
    open: Callable[[], ModelClient]
    budget: Budget

    @property
    def fault_counts(self) -> Counter[FaultKind]:
        """The client's faults so far."""
        return self.open().fault_counts

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """The client's reply; raises `HaltedError` where a cap forbids the call."""
        call = PricedCall(self.provider, self._estimate(request))
        await self.budget.reserve(call)
        try:
            reply = await self.open().complete(request, deadline_s=deadline_s)
            self.budget.settle(call, reply)
        finally:
            self.budget.free(call)
        return reply

    async def aclose(self) -> None:
        """Leaves the client open: it is the engine's."""

    def _estimate(self, request: ModelRequest) -> float:
        if self.budget.max_cost_usd is None:
            return 0.0
        characters = len(request.user) + len(request.system or "")
        return estimate_usd(self.provider, request.model, characters, request.max_tokens) or 0.0


def vet_cap(max_cost_usd: float | None, provider: str, model: str) -> None:
    """Raises `BadInputError` where a cost cap could not be held because the model's price is unknown."""
    if max_cost_usd is not None and not price_known(provider, model):
        raise BadInputError(
            f"the price of {provider}:{model} is unknown, so {argument('max_cost_usd')} cannot be enforced.",
            remedy=f"Leave the cap out, use {argument('max_seconds')}, or choose a model whose price is known.",
        )
