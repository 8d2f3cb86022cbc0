"""From a config's provider to the target that answers in its place."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import assert_never

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Grader
from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.providers import NO_ACCESS, ProviderAccess
from minions_evals_mcp.engine.budget import Budget, Metered, uncapped, vet_cap
from minions_evals_mcp.engine.config_eval.evaluation import (
    AddressSpec,
    AgentSpec,
    AnsweringSpec,
    Column,
    ColumnPart,
    EchoSpec,
    Evaluation,
    GivenSpec,
    ModelSpec,
    ModuleSpec,
    ProgramSpec,
    Provider,
    PythonSpec,
    SimulatedUserSpec,
    Spec,
    target_identity,
)
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.known_secrets import SECRET_NAME
from minions_evals_mcp.models.registry import Models, parse_model
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.targets.address import Address, AddressCode
from minions_evals_mcp.targets.call_traces import TestPlace, Tracing, test_key
from minions_evals_mcp.targets.coding_agents.responder import CodingAgent
from minions_evals_mcp.targets.conversation import takes_calls
from minions_evals_mcp.targets.exchange import TargetQuestion
from minions_evals_mcp.targets.http import HttpQuestion
from minions_evals_mcp.targets.judging_code import JudgingCode
from minions_evals_mcp.targets.live import MAX_TOKENS
from minions_evals_mcp.targets.memory import Memory
from minions_evals_mcp.targets.module_file import SUFFIXES, ModuleFile, PromptModule
from minions_evals_mcp.targets.prompt_code import PromptProgram, prompt_function
from minions_evals_mcp.targets.prompted import Echo, GivenAnswer, PromptedTarget, RenderedPrompt, Responder, Writer
from minions_evals_mcp.targets.responders import ModelResponder, Program, python_file

VARIABLE = re.compile(r"\{\{\s*env\.(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class OwnResponder:
    """A function, a program or an address of the user's; what it says that an answer cost is counted."""

    responder: Responder
    budget: Budget

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """The answer, once the cap lets it be asked for."""
        return await self.budget.own_output(partial(self.responder.answer, prompt, question))


@dataclass(eq=False)
class Providers:
    """Opens the targets of a config's columns; clients of other addresses than the engine's own are closed with `opened`."""

    engine: Engine
    evaluation: Evaluation
    environment: Mapping[str, str]
    opened: AsyncExitStack

    async def models(self, spec: ModelSpec) -> Models:
        """The clients for a model: the engine's, else ones with the address and key that the config gives."""
        given = ProviderAccess(
            self._with_environment(spec.api_key) or None, self._with_environment(spec.base_url) or None
        )
        if given == NO_ACCESS:
            return self.engine.models
        settings = self.engine.config.providers.reached(spec.model.partition(":")[0], given)
        return await self.opened.enter_async_context(Models(settings))

    def _with_environment(self, text: str | None) -> str | None:
        return None if text is None else with_variables(text, self.environment)

    def target(
        self, column: Column, part: ColumnPart, models: Sequence[Models], memory: Memory | None, budget: Budget
    ) -> PromptedTarget:
        """The target of a column's part, its calls taken out of the budget; raises `BadInputError` where it cannot be called."""
        provider = part.provider
        return PromptedTarget(
            name=provider.id,
            identity=target_identity(column, part),
            responder=self._responder(provider, provider.spec, iter(models), budget),
            snippets=self.engine.snippets,
            deadline_s=self.engine.config.call_timeout_s,
            transforms=provider.transforms,
            own_transforms=len(column.provider.transforms),
            delay_s=provider.delay_ms / 1000 or self.evaluation.delay_s,
            writer=self._writer(column),
            about=provider.told,
            prompt_config=column.prompt_config,
            options=provider.options,
            prompt_label=column.prompt_label,
            memory=memory,
            tests=self.evaluation.told_tests,
            before=self.evaluation.hooks and self.evaluation.hooks.before_each,
            tracing=self._tracing(column, provider),
        )

    def _tracing(self, column: Column, provider: Provider) -> Tracing | None:
        """What traces the calls of that column, where the config has them traced."""
        traces = self.evaluation.traces
        if traces is None:
            return None
        ident = provider.known_as or provider.id
        secret = any(SECRET_NAME.search(name) for name in VARIABLE.findall(ident))
        return Tracing(
            held=traces.held,
            listens=traces.listening is not None,
            evaluation_id=self.evaluation.benchmark_id,
            column=self.evaluation.columns.index(column),
            prompt_label=column.prompt_label,
            provider_id="" if secret else with_variables(ident, self.environment),
            provider_label="" if provider.label == provider.id else provider.label,
            kind=provider.spec.kind,
            places=self.places,
            chat_model=_chat_model(provider.spec),
        )

    @cached_property
    def places(self) -> Mapping[str, TestPlace]:
        """The places of the tests, by what they ask; those that ask the same share the first one's."""
        keys = {
            arrival.record.id: test_key(arrival.record.fields.inputs)
            for arrival in self.evaluation.arrivals
            if isinstance(arrival.record.fields, TestCase)
        }
        rows: dict[str, list[int]] = {}
        for number, (ident, _) in enumerate(self.evaluation.rows):
            rows.setdefault(keys[ident], []).append(number)
        return {key: TestPlace(numbers[0], len(numbers) == 1) for key, numbers in rows.items()}

    def judge(self, spec: AnsweringSpec, grader: str) -> JudgingCode:
        """Returns what answers in a model's place, for that grader; raises as `target` does."""
        model = Grader.model_validate_json(grader).model
        return JudgingCode(self._responder(Provider(id=model, label=model, spec=spec), spec, iter(()), uncapped()))

    def _writer(self, column: Column) -> Writer | None:
        code = column.writer
        if code is None:
            return None
        if code.filters:
            from minions_evals_mcp.targets.filtered_prompt import FilteredPrompt  # noqa: PLC0415  jinja2 costs what few runs need

            return FilteredPrompt(code.template, code.filters, code.config)
        provider = column.provider
        wire: Json = {
            "id": provider.known_as or provider.id,
            "label": "" if provider.label == provider.id else provider.label,
        }
        if Path(code.path).suffix in SUFFIXES:
            return PromptModule(Path(code.path), code.function, wire, code.config)
        if code.function is None:
            return PromptProgram(code.path, wire, code.config, code.arguments, code.folder)
        return prompt_function(Path(code.path), code.function, provider=wire, config=code.config)

    def _responder(self, provider: Provider, spec: Spec, models: Iterator[Models], budget: Budget) -> Responder:
        match spec:
            case EchoSpec():
                return Echo()
            case GivenSpec():
                return GivenAnswer(spec.outputs)
            case ModelSpec():
                return self._model(spec, next(models), budget)
            case SimulatedUserSpec():
                return self._talk(provider, spec, models, budget)
            case _:
                return OwnResponder(self._own(provider, spec), budget)

    def _own(
        self, provider: Provider, spec: PythonSpec | ModuleSpec | ProgramSpec | AgentSpec | AddressSpec
    ) -> Responder:
        match spec:
            case PythonSpec():
                options: Json = {"id": provider.id, "config": self._filled(spec.config)}
                return python_file(
                    Path(spec.path), spec.function, name=provider.id, options=options, offered=spec.offered
                )
            case ModuleSpec():
                options = {"id": provider.id, "config": self._filled(spec.config)}
                return ModuleFile(provider.id, Path(spec.path), options, spec.offered)
            case ProgramSpec():
                program = spec.command[0]
                if shutil.which(str(Path(spec.folder).absolute() / program) if "/" in program else program) is None:
                    raise BadInputError(f"provider {provider.id}: program {program!r} not found.")
                options = {"id": provider.id, "config": self._filled(spec.config)}
                return Program(provider.id, spec.command, options, spec.folder)
            case AgentSpec():
                return self._agent(spec, provider.id)
            case AddressSpec():
                return self._address(spec, provider.id)
            case _:
                assert_never(spec)

    def _agent(self, spec: AgentSpec, name: str) -> CodingAgent:
        if shutil.which(spec.run[0]) is None:
            raise BadInputError(
                f"provider {name}: program {spec.run[0]!r} not found.", remedy=f"Install it: {spec.installed_with}"
            )
        given = {**spec.environment, **spec.secrets}
        environment = {key: with_variables(value, self.environment) for key, value in given.items()}
        options = [f"{option}={canonical(self._filled(value))}" for option, value in spec.documents.items()]
        first, *rest = (with_variables(word, self.environment) for word in spec.run)
        return CodingAgent(name, (first, *options, *rest), spec.format, spec.folder, environment)

    def _talk(self, provider: Provider, spec: SimulatedUserSpec, models: Iterator[Models], budget: Budget) -> Responder:
        """A user whom the named model plays, else the one that judges, with whoever answers the column."""
        from minions_evals_mcp.targets.talks.simulated_user import SimulatedUser  # noqa: PLC0415  jinja2 costs what few runs need

        target = self._responder(provider, spec.target, models, budget)
        judge = self.engine.judge_model()
        if spec.user is not None:
            user = self._model(spec.user, next(models), budget)
        elif judge is not None:
            user = self._model(ModelSpec(model=str(judge), max_tokens=MAX_TOKENS), self.engine.models, budget)
        else:
            raise UnsupportedError(
                "a simulated user needs a model.",
                remedy=f"Name one under config.userProvider, or with {argument('judge_model', 'provider:model')}.",
            )
        return SimulatedUser(user, target, spec.instructions, spec.max_turns, spec.initial, spec.stateful)

    def _model(self, spec: ModelSpec, models: Models, budget: Budget) -> ModelResponder:
        ref = parse_model(spec.model)
        models.client(ref)  # a missing key or package is refused before anything runs
        vet_cap(budget.max_cost_usd, ref.provider, ref.model)
        client = Metered(ref.provider, partial(models.client, ref), budget)
        deadline_s = self.engine.config.call_timeout_s
        return ModelResponder(client, ref.model, str(ref), spec.max_tokens, spec.params, deadline_s, spec.as_text)

    def _address(self, spec: AddressSpec, name: str) -> Address:
        headers = {key: with_variables(value, self.environment) for key, value in spec.headers.items()}
        query = {key: with_variables(value, self.environment) for key, value in spec.query.items()}
        url = with_variables(spec.url, self.environment)
        text = None if spec.text is None else with_variables(spec.text, self.environment)
        question = HttpQuestion(spec.method, url, headers, self._filled(spec.body), text)
        code = AddressCode(self.engine.snippets, spec.transform, spec.asking, spec.will_do)
        return Address(name, question, query, self.engine.web, code, spec.escaped, spec.flat)

    def _filled(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return with_variables(value, self.environment)
            case list():
                return [self._filled(item) for item in value]
            case dict():
                return {key: self._filled(item) for key, item in value.items()}
            case _:
                return value


def with_variables(text: str, environment: Mapping[str, str]) -> str:
    """The text with the environment's values in place of `{{env.NAME}}`."""
    return VARIABLE.sub(lambda match: environment[match.group(1)], text)


def _chat_model(spec: Spec) -> str:
    """The model that is asked by OpenAI's own chat interface, empty where another is or none."""
    kind, _, model = spec.model.partition(":") if isinstance(spec, ModelSpec) else ("", "", "")
    return model if kind == "openai" and takes_calls(kind, model) else ""
