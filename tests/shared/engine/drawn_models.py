"""A model whose answers, tokens and times are drawn by lot, and told without being waited for."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.registry import ModelRef, Models, ProviderSettings
from minions_evals_mcp.models.replies import Completion, FaultKind, Reply, TokenUsage
from minions_evals_mcp.models.request import ModelRequest

ANSWERS = ("happy am", "happy am not", "am happy sad", "sad not", "happy")
"""Texts that the workshop's embedder, which counts words, tells apart."""
COLD = 1.3


@dataclass
class Drawn:
    """A client that answers by lot; the first of `every` so many calls that are started is slower, as on a cold connection."""

    seed: str
    every: int = 3
    calls: int = 0
    provider: str = "openai"
    fault_counts: Counter[FaultKind] = field(default_factory=Counter["FaultKind"])

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)  # noqa: S311  a simulation

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """An answer whose time is told and not waited for."""
        del deadline_s
        cold = COLD if self.calls % self.every == 0 else 1.0
        self.calls += 1
        latency = cold * self.chance.lognormvariate(6.5, 0.4)
        written = self.chance.randrange(20, 200)
        usage = TokenUsage(50, written)
        return Completion(
            self.chance.choice(ANSWERS), request.model, "stop", usage, latency, 1e-5 * written, 1, (), latency / 3
        )

    async def aclose(self) -> None:
        """Nothing is open."""


class Scripted(Models):
    """Clients of which each is the same lot."""

    def __init__(self, drawn: Drawn) -> None:
        super().__init__(ProviderSettings(access={"openai": ProviderAccess("key", None)}))
        self.drawn = drawn

    def client(self, ref: ModelRef) -> ModelClient:
        """The lot, whoever is asked."""
        del ref
        return self.drawn
