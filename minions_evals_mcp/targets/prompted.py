"""Outputs made from a rendered prompt by whatever answers prompts in a config: its answer may be transformed before it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from typing import Protocol

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import AnswerFacts, Observed, TargetErrored
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.assertions.kinds.snippets import as_transform
from minions_evals_mcp.scoring.checks import Guards, SnippetError
from minions_evals_mcp.scoring.prompt_texts.version_text import version_text
from minions_evals_mcp.scoring.reserved_inputs import COMPUTED, GIVEN, HIDDEN, TEST
from minions_evals_mcp.targets.call_traces import CallTrace, Tracing
from minions_evals_mcp.targets.exchange import TargetQuestion, asking
from minions_evals_mcp.targets.memory import HISTORY, UNTRANSFORMED, Memory

WRITTEN = "prompt"
"""Where the prompt stands beside an output if code wrote it, or it holds what was said before."""


RECALLED = "recalled"
"""Where the variables stand beside an output that its test took over from those before it."""
ECHOED: Json = {
    "cost": 0, "cached": False, "isRefusal": False, "metadata": {},
    "tokenUsage": {"total": 0, "prompt": 0, "completion": 0, "cached": 0, "numRequests": 1},
}  # fmt: skip
"""What an echo says beside the prompt, in promptfoo's words."""
BROUGHT: Json = {
    "cost": 0, "cached": False, "tokenUsage": {"total": 0, "prompt": 0, "completion": 0, "cached": 0, "numRequests": 0},
}  # fmt: skip
"""The same of an output that the test brings."""

UNTOLD: Guards = (("context", ("metadata",)), ("context.prompt", ()))
"""What a provider's own transform may not read beside what is there; promptfoo tells it no metadata."""


class PythonTransform(Value):
    """A transform in Python: lines that return, with `output` and `context` in them."""

    code: str


@frozen_type
class RenderedPrompt:
    """The prompt: the rendered prompt with the variables and the template that made it.

    `config` is what the prompt asks of its provider; `given` is the digest of the output that the test brings; `label` is
    its name, or says what a judge is asked.
    """

    text: str
    variables: Json
    template: str
    config: Json = field(default_factory=dict[str, JsonValue])
    given: str = ""
    label: str = ""
    test: Json = field(default_factory=dict[str, JsonValue])
    """The test as it stands in its config, where code is told it."""
    trace: CallTrace | None = None
    """The trace of the call, where the config traces them."""

    def context(self) -> Json:
        """Returns what a function or a program of the user's is told beside the prompt."""
        return {
            "vars": self.variables,
            "prompt": {"raw": self.template, "label": self.label or self.template, "config": self.config},
            **({"test": self.test} if self.test else {}),
            **({} if self.trace is None else self.trace.context()),
        }


@frozen_type
class WrittenPrompt:
    """A prompt that code wrote, and what it asks of its provider: a template still unless it is `rendered`."""

    template: str
    config: Json
    rendered: bool = False


class Writer(Protocol):
    """Code that writes a prompt for the inputs of a test."""

    async def write(self, inputs: Json, question: TargetQuestion) -> WrittenPrompt | TargetErrored:
        """The prompt, or why there is none, within the limit of `question`."""
        ...


class PromptSteps(Protocol):
    """The steps that a test's inputs pass through before its prompt is made."""

    async def inputs(self, inputs: Json) -> Json | TargetErrored:
        """The inputs with the variables that it changed, or why the test is not asked."""
        ...


class Responder(Protocol):
    """Something that answers prompts; what it measures itself (tokens, cost) stands in the observed output."""

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """The answer, or why there is none, within the limit of `question`."""
        ...


@frozen_type
class Echo:
    """Answers with the prompt."""

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """The prompt itself."""
        del question
        about = AnswerFacts(response={"raw": prompt.text, **ECHOED}, whole=True)
        return Observed(output={"output": prompt.text}, latency_ms=0, cost_usd=0, told=about)


@frozen_type
class GivenAnswer:
    """Answers with what the test brings; nobody is asked."""

    outputs: Json

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """The test's own output."""
        del question
        about = AnswerFacts(response=BROUGHT, whole=True)
        return Observed(output={"output": self.outputs[prompt.given]}, latency_ms=0, cost_usd=0, told=about)


def variables_of(inputs: Json) -> Json:
    """The variables among a test's inputs."""
    return {name: value for name, value in inputs.items() if name not in HIDDEN}


def recalled_inputs(inputs: Json, output: Json) -> Json:
    """The inputs that the kept output was asked for with: those of the case, over them what its test took over from others."""
    inputs_recalled = output.get(RECALLED)
    return {**inputs, **inputs_recalled} if isinstance(inputs_recalled, dict) else inputs


def written_prompt(output: Json) -> str | None:
    """The prompt that code wrote for that kept output."""
    prompt = output.get(WRITTEN)
    return prompt if isinstance(prompt, str) else None


@frozen_type
class PromptedTarget:
    """A responder that is asked the rendered prompt version. `transforms` change the `output` so far, one after the other.

    Where there is a `writer`, it writes the prompt in place of the version's template; what it wrote is kept.
    """

    name: str
    identity: str
    responder: Responder
    snippets: Snippets
    deadline_s: float
    transforms: tuple[str | PythonTransform, ...] = ()
    own_transforms: int = 0
    """How many of the transforms are the provider's own: they are told no metadata, the test's is."""
    delay_s: float = 0.0
    writer: Writer | None = None
    about: Json = field(default_factory=dict[str, JsonValue])
    """What code is told of it."""
    prompt_config: Json = field(default_factory=dict[str, JsonValue])
    """What the prompt asks of the model, where no writer says it."""
    options: Json = field(default_factory=dict[str, JsonValue])
    """What the tests ask of it, over what the prompt does."""
    prompt_label: str = ""
    memory: Memory | None = None
    """What the tests before this one left; they are then asked one after the other."""
    tests: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The tests that code is told, by their digests."""
    before: PromptSteps | None = None
    """What is called before each output, and may change the variables."""
    tracing: Tracing | None = None
    """What traces its calls."""

    @property
    def takes_version(self) -> bool:
        """It is asked the rendered version."""
        return True

    def digest(self) -> str:
        """The digest of the responder's set-up, as whoever set it up defines it."""
        return self.identity

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """The responder's answer to the rendered prompt, transformed."""
        assert version is not None, "a config's column has a prompt"
        question = asking(self.name, version, timeout_ms=timeout_ms, deadline_s=self.deadline_s)
        if self.memory is not None and (name := self.memory.lacking(inputs, version.fields.content)):
            return TargetErrored(f"{self.name}: the output {name!r} of an earlier test is missing", fatal=True)
        if self.memory is not None:
            self.memory.begin(inputs)
        try:
            recalled = await self._recalled(inputs)
            if isinstance(recalled, TargetErrored):
                return recalled
            prompt = await self._prompt(recalled, version.fields, question)
        except EvalsError as error:
            return TargetErrored(f"{self.name}: the prompt: {error.message_text}")
        if isinstance(prompt, TargetErrored):
            return prompt
        if not prompt.given:
            await anyio.sleep(self.delay_s)
        seen = await self._answered(prompt, inputs, question)
        if isinstance(seen, TargetErrored) or seen.timed_out:
            return seen
        about = (seen.told or AnswerFacts()).model_copy(update={"provider": self.about})
        seen = seen.model_copy(update={"prompt_version_ref": version.id, "produced_by": self.name, "told": about})
        made = await self._transformed(seen, prompt) if self.transforms else seen
        if isinstance(made, TargetErrored) or (self.writer is None and self.memory is None and self.before is None):
            return made
        if self.memory is not None:
            self.memory.heard(inputs, prompt.text, made.output)
        changed: Json = {
            name: value for name, value in recalled.items() if name != HISTORY and inputs.get(name) != value
        }
        taken: Json = {RECALLED: changed} if changed else {}
        return made.model_copy(update={"output": {**made.output, WRITTEN: prompt.text, **taken}})

    async def _answered(
        self, prompt: RenderedPrompt, inputs: Json, question: TargetQuestion
    ) -> Observed | TargetErrored:
        """The responder's answer, with the trace of the call where there is one: of an output that the test brings there is none."""
        if self.options:
            prompt = replace(prompt, config={**prompt.config, **self.options})
        if self.tracing is None or prompt.given:
            return await self.responder.answer(prompt, question)
        with self.tracing.call(inputs) as call:
            seen = await self.responder.answer(replace(prompt, trace=call.trace), question)
            if isinstance(seen, TargetErrored) or seen.timed_out:
                return seen
            about = seen.told or AnswerFacts()
            trace = await call.trace_facts(prompt.variables, about.response)
        return seen.model_copy(update={"told": about.model_copy(update={"trace": trace})})

    async def _recalled(self, inputs: Json) -> Json | TargetErrored:
        """The inputs with what was stored over them, and with what the hooks change."""
        recalled = inputs if self.memory is None else self.memory.recalled(inputs)
        if self.before is None:
            return recalled
        earlier_inputs = await self.before.inputs(recalled)
        return (
            TargetErrored(f"{self.name}: {earlier_inputs.reason}")
            if isinstance(earlier_inputs, TargetErrored)
            else earlier_inputs
        )

    async def _prompt(
        self, inputs: Json, version: PromptVersion, question: TargetQuestion
    ) -> RenderedPrompt | TargetErrored:
        """Returns what is asked: the version's template rendered, else what the writer writes."""
        variables = variables_of(inputs)
        output_digest = str(inputs.get(GIVEN, ""))
        prompt = partial(RenderedPrompt, label=self.prompt_label, test=self.tests.get(str(inputs.get(TEST)), {}))
        if self.writer is None:
            return prompt(version_text(version, inputs), variables, version.content, self.prompt_config, output_digest)
        written = await self.writer.write(inputs, question)
        if isinstance(written, TargetErrored):
            return written
        if written.rendered:
            return prompt(written.template, variables, version.content, written.config, output_digest)
        from minions_evals_mcp.scoring.nunjucks.templates import prompt_text  # noqa: PLC0415  jinja2 costs what few runs need

        try:
            text = prompt_text(written.template, {**variables, COMPUTED: inputs.get(COMPUTED)})
        except EvalsError as error:
            return TargetErrored(f"{self.name}: the prompt that was written: {error.message_text}")
        return prompt(text, variables, written.template, written.config, output_digest)

    async def _transformed(self, seen: Observed, prompt: RenderedPrompt) -> Observed | TargetErrored:
        """The output after every transform; the answer as it came is kept beside it."""
        value: JsonValue = seen.output.get("output", output_text(seen.output))
        context: Json = {"vars": prompt.variables, "prompt": {"raw": prompt.text, "label": prompt.label}}
        metadata = None if seen.told is None else seen.told.response.get("metadata")
        metadata_part: Json = {} if metadata is None else {"metadata": metadata}
        for number, transform in enumerate(self.transforms):
            own = number < self.own_transforms
            arguments: Json = {"output": value, "context": context if own else {**context, **metadata_part}}
            guards = UNTOLD if own else _guards(seen.told, metadata)
            if isinstance(transform, PythonTransform):
                outcome = await self.snippets.run("python", transform.code, arguments, guards=guards)
            else:
                outcome = await self.snippets.run(
                    "javascript", as_transform(transform, "output, context"), arguments, guards=guards
                )
            if isinstance(outcome, SnippetError):
                return TargetErrored(f"{self.name}: the transform failed: {outcome.error}")
            value = outcome.value
        if value is None:
            return TargetErrored(f"{self.name}: the transform returned nothing")
        return seen.model_copy(update={"output": {"output": value, UNTRANSFORMED: seen.output}})


def _guards(facts: AnswerFacts | None, metadata: JsonValue) -> Guards:
    """What of the context may be read beside what is there."""
    is_whole = facts is not None and facts.whole
    guards: Guards = (("context", ("metadata",) if is_whole else ()), ("context.prompt", ()))
    if is_whole or not isinstance(metadata, dict) or not isinstance(metadata.get("http"), dict):
        return guards
    return (*guards, ("context.metadata.http", ()))  # of an application's answer the headers are not kept
