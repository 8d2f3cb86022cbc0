"""Calls that workers make, allowed one by one here: the run's caps and a provider's limit hold across all of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from minions_evals_mcp.engine.budget import Budget, HaltedError, PricedCall
from minions_evals_mcp.models.limit import AdaptiveLimit
from minions_evals_mcp.models.replies import FailedReply, Reply

PUSHED_BACK = frozenset({"rate-limited", "overloaded"})
GIVEN_UP = "the worker that asked was given up"
LOST = FailedReply("transient", "the worker that made the call was lost", fatal=False, faults=(), attempts=1)


@dataclass(slots=True, eq=False)
class _Held:
    """A call that may be under way."""

    worker: str
    call: PricedCall
    sent_at: float
    settled: bool = False
    over: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True, eq=False)
class Permits:
    """Permits for the calls of workers at the same time, at each provider: as many calls as they have places, less when it pushes back."""

    budget: Budget
    most: int
    limits: dict[str, AdaptiveLimit] = field(default_factory=dict[str, AdaptiveLimit])
    held: list[_Held] = field(default_factory=list[_Held])
    stays: dict[str, object] = field(default_factory=dict[str, object])
    """The workers that are there, each with what is another once it was lost."""

    def meet(self, worker: str) -> None:
        """The worker is there: from now on it may call."""
        self.stays[worker] = object()

    async def allow(self, worker: str, call: PricedCall, answer: Callable[[str], Awaitable[None]]) -> None:
        """Answers "" once the call may be made, or why it may not; returns when it is over."""
        refused = await self._allowed(worker, call, answer)
        if refused:
            await answer(refused)

    async def _allowed(self, worker: str, call: PricedCall, answer: Callable[[str], Awaitable[None]]) -> str:
        """Nothing once a call is over that was allowed, else why it was not; what waits for a place may be lost meanwhile."""
        stay = self.stays.get(worker)
        async with self._limit(call.provider):
            try:
                await self.budget.reserve(call)
            except HaltedError as error:
                return str(error)
            held = _Held(worker, call, time.monotonic())
            self.held.append(held)
            try:
                if stay is None or self.stays.get(worker) is not stay:
                    return GIVEN_UP
                await answer("")
                await held.over.wait()
            finally:
                self.held.remove(held)
                self.budget.free(call)
        return ""

    def settle(self, worker: str, call: PricedCall, reply: Reply) -> None:
        """Counts what the call did cost, and what it says of its provider."""
        held = self._of(worker, call, settled=False)
        if held is None:  # the worker was lost meanwhile, and the call is counted
            return
        held.settled = True
        self.budget.settle(call, reply)
        limit = self._limit(call.provider)
        if PUSHED_BACK.intersection(reply.faults):
            limit.pushed_back(sent_at=held.sent_at, now=time.monotonic())
        elif not isinstance(reply, FailedReply):
            limit.succeeded()

    def free(self, worker: str, call: PricedCall) -> None:
        """The call is over."""
        held = self._of(worker, call, settled=True) or self._of(worker, call, settled=False)
        if held is not None:
            held.over.set()

    def lose(self, worker: str) -> None:
        """Counts the lost worker's calls at their estimate, for they may have been billed; what it waits for is not allowed."""
        self.stays.pop(worker, None)
        for held in [held for held in self.held if held.worker == worker and not held.over.is_set()]:
            if not held.settled:
                self.budget.settle(held.call, LOST)
            held.over.set()

    def _of(self, worker: str, call: PricedCall, *, settled: bool) -> _Held | None:
        """A call like that; which of several does not matter."""
        same = (held for held in self.held if (held.worker, held.call, held.settled) == (worker, call, settled))
        return next((held for held in same if not held.over.is_set()), None)

    def _limit(self, provider: str) -> AdaptiveLimit:
        if provider not in self.limits:
            self.limits[provider] = AdaptiveLimit(self.most)
        return self.limits[provider]
