"""The interface of a provider's client, and the layer that makes one out of a single-attempt function."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from typing import Protocol

import anyio

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.models.departure import departing
from minions_evals_mcp.models.faults import AttemptFault
from minions_evals_mcp.models.limit import AdaptiveLimit
from minions_evals_mcp.models.negotiation import Negotiation
from minions_evals_mcp.models.prices import cost_usd
from minions_evals_mcp.models.replies import Answered, FailedReply, FaultKind, RefusedReply, Reply
from minions_evals_mcp.models.request import ModelRequest


@frozen_type
class RetrySettings:
    """The limits of one call's retries. Before the nth retry it waits what the provider asks for plus up to `base_s · 2^(n-1)`,
    at most `cap_s` (full jitter). A provider that asks for more than `retry_after_cap_s` is not waited for.
    """

    attempts: int = 6
    base_s: float = 0.2
    cap_s: float = 5.0
    retry_after_cap_s: float = 30.0


@frozen_type
class ModelConnection:
    """The parts that a client is made with: whom it asks, where and with which key, and how hard. A reply has at most `reply_bytes`."""

    provider: str
    api_key: str = field(repr=False)
    base_url: str
    concurrency: int
    retry: RetrySettings
    reply_bytes: int
    place: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a cloud needs besides: its region, project or version of the interface."""
    is_foreign: bool = False
    """Whether the operator did not set the address: a file under test did."""


def _says_nothing(answer: Answered) -> bool:
    """Returns whether the server itself says that its model made nothing: what it does not count is not 0."""
    counted = answer.usage is not None and answer.usage.output_tokens == 0
    return counted and not isinstance(answer, RefusedReply) and not answer.text.strip() and answer.value is None


Attempt = Callable[[ModelRequest], Awaitable[Answered | AttemptFault]]


class ModelClient(Protocol):
    """One provider. `complete` never raises for what a provider does; `deadline_s` bounds each attempt, no wait."""

    @property
    def provider(self) -> str: ...

    @property
    def fault_counts(self) -> Counter[FaultKind]: ...

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply: ...

    async def aclose(self) -> None: ...


TWICE: tuple[FaultKind, ...] = ("deadline", "empty")
"""A server that hangs, or says nothing, twice in one call is not asked a third time."""


class Retrying:
    """Calls `attempt` until it answers, under a wall-clock deadline, an attempts budget and an adaptive limit.

    A parameter that the endpoint refuses by name is left out, and the attempt is made again: it counts as no fault.
    An SDK's own time limits do not end a body that trickles, so the deadline here is around the whole attempt.
    """

    def __init__(self, connection: ModelConnection, attempt: Attempt, negotiation: Negotiation | None = None) -> None:
        self.negotiation = negotiation or Negotiation()
        self.provider = connection.provider
        self.limit = AdaptiveLimit(connection.concurrency)
        self.fault_counts: Counter[FaultKind] = Counter()
        self._attempt = attempt
        self._settings = connection.retry
        self._not_before: dict[str, float] = {}
        """When each model may be asked again that asked for a longer wait than a call may take."""

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """The model's reply, or why there is none. A call that waits holds no place among those in flight."""
        faults: list[FaultKind] = []
        left_s = self._not_before.get(request.model, 0.0) - anyio.current_time()
        if left_s > self._settings.retry_after_cap_s:
            reason = f"it asked to wait and is not called again for {left_s:.0f} s"
            return FailedReply("rate-limited", reason, fatal=False, faults=(), attempts=0, retry_after_s=left_s)
        if left_s > 0:
            await anyio.sleep(left_s)
        while True:
            terms = self.negotiation.terms(request.model)
            outcome, latency_s = await self._try(terms.adapted(request), deadline_s)
            if not isinstance(outcome, AttemptFault):
                dropped = tuple(name for name in request.params if name in terms.dropped)
                answer = replace(outcome, dropped=dropped) if dropped else outcome
                return self._measured(request, answer, latency_ms=latency_s * 1000, faults=tuple(faults))
            if self.negotiation.learns(request, terms, outcome):
                continue
            faults.append(outcome.kind)
            self.fault_counts[outcome.kind] += 1
            twice = any(faults.count(kind) > 1 for kind in TWICE)
            wait_s = None if twice else self._wait_s(outcome, made=len(faults))
            if wait_s is None:
                if self._asks_too_long(outcome):
                    self._not_before[request.model] = anyio.current_time() + (outcome.retry_after_s or 0.0)
                return self._failed(outcome, tuple(faults))
            await anyio.sleep(wait_s)

    async def _try(self, request: ModelRequest, deadline_s: float) -> tuple[Answered | AttemptFault, float]:
        """One attempt and how long it took in seconds; the wait for a place and a connection is not counted."""
        outcome: Answered | AttemptFault = AttemptFault("deadline", f"no complete reply within {deadline_s:g} s")
        async with self.limit:
            sent_at = anyio.current_time()
            with departing() as departure, anyio.move_on_after(deadline_s):
                outcome = await self._attempt(request)
            now = anyio.current_time()
        if not isinstance(outcome, AttemptFault):
            self.limit.succeeded()
        elif outcome.kind in ("rate-limited", "overloaded"):
            self.limit.pushed_back(sent_at=sent_at, now=now)
        if not isinstance(outcome, AttemptFault) and _says_nothing(outcome):
            outcome = AttemptFault("empty", "it returned no text and 0 completion tokens")
        return outcome, now - departure.at

    def _wait_s(self, fault: AttemptFault, *, made: int) -> float | None:
        """Seconds until the next attempt is due; None if none is."""
        if fault.kind == "permanent" or made >= self._settings.attempts or self._asks_too_long(fault):
            return None
        jitter = random.random()  # noqa: S311 - spreads retries in time, guards nothing
        backoff_s = min(self._settings.cap_s, self._settings.base_s * 2 ** (made - 1))
        return (fault.retry_after_s or 0.0) + jitter * backoff_s

    def _asks_too_long(self, fault: AttemptFault) -> bool:
        return fault.retry_after_s is not None and fault.retry_after_s > self._settings.retry_after_cap_s

    def _failed(self, last: AttemptFault, faults: tuple[FaultKind, ...]) -> FailedReply:
        reason = last.reason
        if self._asks_too_long(last):
            cap = self._settings.retry_after_cap_s
            reason += f" (asks to wait {last.retry_after_s:g} s, a call waits at most {cap:g} s)"
        elif len(faults) > 1:
            met = ", ".join(f"{count} {kind}" for kind, count in Counter(faults).items())
            reason += f" (after {len(faults)} attempts: {met})"
        return FailedReply(last.kind, reason, last.fatal, faults, len(faults), last.retry_after_s)

    def _measured(
        self, request: ModelRequest, answer: Answered, *, latency_ms: float, faults: tuple[FaultKind, ...]
    ) -> Answered:
        """The answer with what it took and costs."""
        model = answer.model or request.model
        cost = None if answer.usage is None else cost_usd(self.provider, model, answer.usage)
        if isinstance(answer, RefusedReply):
            answer = replace(answer, explanation=masked(answer.explanation))
        return replace(
            answer, model=model, latency_ms=latency_ms, cost_usd=cost, attempts=len(faults) + 1, faults=faults
        )


class RetriedClient:
    """The shared part of every `ModelClient` that reaches its provider through a `Retrying`, which it makes itself."""

    provider: str
    _retrying: Retrying

    @property
    def fault_counts(self) -> Counter[FaultKind]:
        """Faults met since the start, by kind, cured ones included."""
        return self._retrying.fault_counts

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """Returns what the provider says, or why it says nothing."""
        return await self._retrying.complete(request, deadline_s=deadline_s)
