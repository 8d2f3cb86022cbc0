"""Judges and embedders that single assertions name in place of the run's, and the services that decide some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion, Grader
from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.engine.budget import Budget, Metered, vet_cap
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.embedders import model_embedder
from minions_evals_mcp.engine.judge.services import Answers, OpenService, ask_webhook, gathered, vet_webhook
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.models.registry import Models, parse_model
from minions_evals_mcp.models.service_table import DEFAULT_MODERATION, service_of
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.assertions.kinds.services import UNNAMED
from minions_evals_mcp.scoring.checks import ServiceNeed, Unmet

if TYPE_CHECKING:
    from minions_evals_mcp.judges.llm import LlmJudge


@dataclass(slots=True, eq=False)
class OwnJudges:
    """Opens each once for one run; what it is asked is taken out of the run's budget."""

    engine: Engine
    budget: Budget
    judges: dict[str, LlmJudge] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    embedders: dict[str, Embedder] = field(default_factory=dict[str, Embedder])
    services: dict[str, OpenService] = field(default_factory=dict[str, OpenService])

    def judge(self, grader: Grader) -> LlmJudge:
        """The judge; raises `BadInputError` where its key is missing, or only its config can open it."""
        from minions_evals_mcp.judges.llm import LlmJudge  # noqa: PLC0415  only where a model of its own judges

        if grader.name not in self.judges:
            client, model = self._client(grader)
            engine = self.engine
            self.judges[grader.name] = LlmJudge(
                client,
                model,
                engine.new_mark,
                engine.config.call_timeout_s,
                own=grader,
                asks_empty=engine.config.judge_empty,
            )
        return self.judges[grader.name]

    def _client(self, grader: Grader) -> tuple[Metered, str]:
        """Returns who is asked, and under which name."""
        if grader.code is not None:
            code = self.engine.own_code.get(grader.name)
            if code is None:
                raise _only_there(grader)
            return Metered(code.provider, lambda: code, self.budget), grader.model
        models, ref = self._models(grader), parse_model(grader.model)
        models.client(ref)  # a missing key or package is refused before anything runs
        vet_cap(self.budget.max_cost_usd, ref.provider, ref.model)
        return Metered(ref.provider, partial(models.client, ref), self.budget), ref.model

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

    def service(self, grader: Grader | None) -> OpenService:
        """The service that moderates or classifies; None: what moderates by default. Raises as `judge` does."""
        name = grader.name if grader else ""
        if name not in self.services:
            model = grader.model if grader else self._moderating()
            row = service_of(model)
            assert row is not None, "vetted when the config was read"
            models = self._models(grader) if grader else self.engine.models
            if not row.free:
                vet_cap(self.budget.max_cost_usd, row.account, model)
            self.services[name] = OpenService(models.service(row), model, grader)
        return self.services[name]

    def _moderating(self) -> str:
        """Returns what moderates by default: of the account whose key is there, else OpenAI's, whose key is then asked for."""
        access = self.engine.config.providers.access
        held = (name for name in DEFAULT_MODERATION if name in access and access[name].api_key)
        return DEFAULT_MODERATION[next(held, "openai")]

    def vet_service(self, assertion: Assertion) -> None:
        """Raises where the service of the assertion cannot be asked: no key, or an address that nobody allowed."""
        if assertion.base_type == "webhook":
            vet_webhook(str(assertion.value), self.engine.config.webhooks)
        elif assertion.base_type == "classifier" and assertion.provider is None:
            raise BadInputError(
                f"a classifier {UNNAMED}.",
                remedy=f"{Next('eval', {'config': 'CONFIG'}, 'runs a config that names one')}.",
            )
        else:
            self.service(assertion.provider)

    async def ask_services(self, needs: Sequence[ServiceNeed]) -> Answers:
        """Returns what services and webhooks say, all asked at once."""
        return await gathered(needs, self._ask_service)

    async def _ask_service(self, need: ServiceNeed) -> JsonValue | Unmet:
        config = self.engine.config
        if need.kind == "webhook":
            return await ask_webhook(self.engine.web, need, config.webhooks, deadline_s=config.call_timeout_s)
        service = self.service(Grader.model_validate_json(need.service) if need.service else None)
        return await service.ask(need, deadline_s=config.call_timeout_s)

    def _models(self, grader: Grader) -> Models:
        own = self.engine.own_models.get(grader.name)
        if own is None and grader.needs_config:
            raise _only_there(grader)
        return own or self.engine.models


def _only_there(grader: Grader) -> BadInputError:
    return BadInputError(
        f"the judge {grader.model} of an assertion is code, or has its own address or key. These work only in a config.",
        remedy=f"{Next('eval', {'config': 'CONFIG'}, 'runs that config')}.",
    )
