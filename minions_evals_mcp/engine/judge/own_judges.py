"""Judges and embedders that single assertions name, in place of the run's."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from minions_evals_mcp.domain.assertions import Grader
from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.engine.budget import Budget, Metered, vet_cap
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.embedders import model_embedder
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.judges.llm import LlmJudge
from minions_evals_mcp.models.registry import Models, parse_model


@dataclass(slots=True, eq=False)
class OwnJudges:
    """Opens each once for one run; what it is asked is taken out of the run's budget."""

    engine: Engine
    budget: Budget
    judges: dict[str, LlmJudge] = field(default_factory=dict[str, LlmJudge])
    embedders: dict[str, Embedder] = field(default_factory=dict[str, Embedder])

    def judge(self, grader: Grader) -> LlmJudge:
        """The judge; raises `BadInputError` where its key is missing, or only its config can open it."""
        if grader.name not in self.judges:
            models, ref = self._models(grader), parse_model(grader.model)
            models.client(ref)  # a missing key or package is refused before anything runs
            vet_cap(self.budget.max_cost_usd, ref.provider, ref.model)
            client = Metered(ref.provider, partial(models.client, ref), self.budget)
            engine = self.engine
            self.judges[grader.name] = LlmJudge(
                client, ref.model, engine.new_mark, engine.config.call_timeout_s, own=grader
            )
        return self.judges[grader.name]

    def embedder(self, grader: Grader) -> Embedder:
        """The embedder; raises as `judge` does, and `UnsupportedError` where the provider has none."""
        if grader.name not in self.embedders:
            models, ref = self._models(grader), parse_model(grader.model)
            vet_cap(self.budget.max_cost_usd, ref.provider, ref.model)
            client = Metered(ref.provider, partial(models.embeddings, ref), self.budget)
            models.embeddings(ref)  # as above
            self.embedders[grader.name] = model_embedder(ref, client, deadline_s=self.engine.config.call_timeout_s)
        return self.embedders[grader.name]

    def named_embedder(self, name: str) -> Embedder:
        """The embedder that a need names."""
        return self.embedder(Grader.model_validate_json(name))

    def named_judge(self, name: str) -> LlmJudge:
        """The judge that a need names."""
        return self.judge(Grader.model_validate_json(name))

    def _models(self, grader: Grader) -> Models:
        own = self.engine.own_models.get(grader.name)
        if own is None and grader.needs_config:
            raise BadInputError(
                f"the judge {grader.model} of an assertion has an address or a key of its own, which stand in a config.",
                remedy="Run `minions-evals eval CONFIG` with that config.",
            )
        return own or self.engine.models
