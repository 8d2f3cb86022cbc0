"""Outputs made from a rendered prompt by whatever answers prompts in a config: its answer may be transformed before it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.assertions.transforms import called
from minions_evals_mcp.scoring.checks import Broke
from minions_evals_mcp.scoring.nunjucks import PREFIX, SUFFIX
from minions_evals_mcp.scoring.version_text import version_text
from minions_evals_mcp.targets.exchange import Asking, asking


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked: the rendered prompt with the variables and the template that made it."""

    text: str
    variables: Json
    template: str


class Responder(Protocol):
    """Something that answers prompts; what it measures itself (tokens, cost) stands in the observed output."""

    async def answer(self, prompt: Prompt, asked: Asking) -> Observed | TargetErrored:
        """The answer, or why there is none, within the limit of `asked`."""
        ...


@dataclass(frozen=True, slots=True)
class Echo:
    """Answers with the prompt."""

    async def answer(self, prompt: Prompt, asked: Asking) -> Observed | TargetErrored:
        """The prompt itself."""
        del asked
        return Observed(output={"output": prompt.text}, latency_ms=0, cost_usd=0)


@dataclass(frozen=True, slots=True)
class PromptedTarget:
    """A responder that is asked the rendered prompt version. `transforms` are JavaScript, each over the `output` so far."""

    name: str
    identity: str
    responder: Responder
    snippets: Snippets
    deadline_s: float
    transforms: tuple[str, ...] = ()
    delay_s: float = 0.0

    def digest(self) -> str:
        """The digest of the responder's set-up, as whoever set it up defines it."""
        return self.identity

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """The responder's answer to the rendered prompt, transformed."""
        assert version is not None, "a config's column has a prompt"
        variables = {name: value for name, value in inputs.items() if name not in {PREFIX, SUFFIX}}
        prompt = Prompt(version_text(version.fields, inputs), variables, version.fields.content)
        asked = asking(self.name, version, timeout_ms=timeout_ms, deadline_s=self.deadline_s)
        await anyio.sleep(self.delay_s)
        seen = await self.responder.answer(prompt, asked)
        if isinstance(seen, TargetErrored) or seen.timed_out:
            return seen
        seen = seen.model_copy(update={"prompt_version_ref": version.id, "produced_by": self.name})
        return await self._transformed(seen, prompt) if self.transforms else seen

    async def _transformed(self, seen: Observed, prompt: Prompt) -> Observed | TargetErrored:
        """The output after every transform; the answer as it came is kept beside it."""
        value: JsonValue = seen.output.get("output", output_text(seen.output))
        context: Json = {"vars": prompt.variables, "prompt": {"raw": prompt.text}}
        for code in self.transforms:
            found = await self.snippets.run(
                "javascript", called(code, "output, context"), {"output": value, "context": context}
            )
            if isinstance(found, Broke):
                return TargetErrored(f"{self.name}: the transform failed: {found.error}")
            value = found.value
        if value is None:
            return TargetErrored(f"{self.name}: the transform gave nothing")
        return seen.model_copy(update={"output": {"output": value, "untransformed": seen.output}})
