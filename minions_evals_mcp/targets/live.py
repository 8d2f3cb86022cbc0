"""Outputs made now: what a target is, and a model that is sent a rendered prompt version."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, assert_never, runtime_checkable

from pydantic import ConfigDict, JsonValue, TypeAdapter

from minions_evals_mcp.domain.conversations import Spoken
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion, tool_calls_of
from minions_evals_mcp.domain.outcomes import AnswerFacts, Observed, TargetErrored
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.replies import Completion, FailedReply, RefusedReply, Reply, Truncated
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.scoring.prompt_texts.version_text import version_text
from minions_evals_mcp.targets.conversation import PromptTurns, chat_request

if TYPE_CHECKING:
    from minions_evals_mcp.world.reaching import WorldTools
    from minions_evals_mcp.world.units import UnitInWorld

MAX_TOKENS = 2048
SAID = "said"
"""What a model in a world remembers of a conversation: all messages, with its calls of tools."""
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue, config=ConfigDict(defer_build=True))


class Target(Protocol):
    """Something that turns a case's inputs into an output."""

    @property
    def takes_version(self) -> bool:
        """Returns whether it is told of the prompt version, so that its output is that version's."""
        ...

    def digest(self) -> str:
        """The digest of the target's configuration."""
        ...

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """The output, or why there is none; one that takes longer than `timeout_ms` is observed as timed out."""
        ...


@runtime_checkable
class ActsInWorlds(Protocol):
    """A target that can be pointed at the tool servers of a world."""

    def in_world(self, world: UnitInWorld) -> AbstractAsyncContextManager[Target]:
        """The same target, pointed at that world for as long as this lasts."""
        ...


@runtime_checkable
class Converses(Protocol):
    """A target that can take part in a conversation, turn by turn."""

    async def answer_in(
        self, spoken: Spoken, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """The answer to what the user said last, or why there is none."""
        ...


@frozen_type
class ModelTarget:
    """A prompt version rendered with the inputs and sent to a model; without one, the inputs' text is sent as it is.

    In a world it has `tools`, and its calls are carried out.
    """

    client: ModelClient
    model: str
    deadline_s: float
    tools: WorldTools | None = None

    @asynccontextmanager
    async def in_world(self, world: UnitInWorld) -> AsyncGenerator[ModelTarget]:
        """The same model, with the tools of that world."""
        from minions_evals_mcp.targets.tool_loop import vet_acting  # noqa: PLC0415  few cases have a world
        from minions_evals_mcp.world.reaching import tools_for_model  # noqa: PLC0415  as above

        vet_acting(self.client.provider, self.model)
        async with tools_for_model(world.session) as tools:
            yield replace(self, tools=tools)

    @property
    def takes_version(self) -> bool:
        """It is sent the rendered version."""
        return True

    @property
    def name(self) -> str:
        """`provider:model`, as it stands in `producedBy`."""
        return f"{self.client.provider}:{self.model}"

    def digest(self) -> str:
        """The digest of provider, model and parameters."""
        return digest({"target": "model", "model": self.name, "maxTokens": MAX_TOKENS})

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """The model's reply as an output record with the key `output`."""
        prompt = output_text(inputs) if version is None else version_text(version.fields, inputs)
        if self.tools is not None:
            seen, _ = await self._acted("", [{"role": "user", "content": prompt}], version, timeout_ms)
            return seen
        request = ModelRequest(
            model=self.model, system=None, user=prompt, max_tokens=MAX_TOKENS, schema=None, params={}
        )
        return await self._asked(request, version, timeout_ms)

    async def answer_in(
        self, spoken: Spoken, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """The model's reply to the conversation; the rendered version, else the inputs' text, is the system's part."""
        system = version_text(version.fields, inputs) if version else output_text(inputs) if inputs else ""
        if self.tools is not None:
            before = spoken.session.get(SAID)  # with the calls of earlier turns and their results
            messages = [*before, spoken.messages[-1]] if isinstance(before, list) else [*spoken.messages]
            seen, said = await self._acted(system, messages, version, timeout_ms)
            spoken.session[SAID] = [*said]
            return seen
        parts: tuple[Json, ...] = ({"role": "system", "content": system},) if system else ()
        turns = PromptTurns((*parts, *spoken.messages))
        request = chat_request(self.client.provider, self.model, turns, MAX_TOKENS, {})
        return await self._asked(request, version, timeout_ms)

    async def _asked(
        self, request: ModelRequest, version: Record[PromptVersion] | None, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        # Longer than the case's own limit, so that a slow answer is seen to be slow instead of given up.
        deadline_s = max(self.deadline_s, 2 * (timeout_ms or 0) / 1000)
        ref = None if version is None else version.id
        reply = await self.client.complete(request, deadline_s=deadline_s)
        return seen_in(reply, self.name, ref, timeout_ms=timeout_ms)

    async def _acted(
        self, system: str, messages: Sequence[JsonValue], version: Record[PromptVersion] | None, timeout_ms: int | None
    ) -> tuple[Observed | TargetErrored, tuple[Json, ...]]:
        """The last reply of a model that acts on its world, and all that was said."""
        from minions_evals_mcp.targets.tool_loop import ToolLoop  # noqa: PLC0415  few cases have a world

        assert self.tools is not None
        loop = ToolLoop(self.client, self.model, self.tools, MAX_TOKENS, self.deadline_s)
        said = [message for message in messages if isinstance(message, dict)]
        end = await loop.held(system, said, timeout_ms=timeout_ms)
        ref = None if version is None else version.id
        seen = seen_in(end.reply, self.name, ref, timeout_ms=timeout_ms)
        if isinstance(seen, Observed) and end.broken_off is not None:
            # Its last reply only calls tools: it has not answered.
            over = None if seen.timed_out else end.broken_off
            seen = seen.model_copy(update={"output": {}, "tool_calls": None, "agent_error": over})
        return seen, end.messages


def seen_in(reply: Reply, name: str, ref: str | None, *, timeout_ms: int | None) -> Observed | TargetErrored:
    """Returns what a model's reply is as an output of that model for that prompt version."""
    match reply:
        case Completion():
            finish = "end_turn"
        case Truncated():
            finish = "max_tokens"
        case RefusedReply():
            finish = "refusal"
        case FailedReply():
            unanswered = reply.kind != "permanent"
            return TargetErrored(f"{name}: {why_failed(reply)}", reply.fatal, unanswered)
        case _:
            assert_never(reply)
    seen = _observed(name, ref, reply.text, finish=finish, timeout_ms=timeout_ms, latency_ms=reply.latency_ms)
    usage = reply.usage
    return seen.model_copy(
        update={
            **_beyond_text(reply.text, reply.value, reply.log_probs),
            "cost_usd": reply.cost_usd,
            "input_tokens": None if usage is None else usage.input_tokens,
            "output_tokens": None if usage is None else usage.output_tokens,
        }
    )


def why_failed(reply: FailedReply) -> str:
    """Why no reply came."""
    return f"{reply.kind}: {reply.reason}"


def _beyond_text(text: str, value: JsonValue, log_probs: tuple[float, ...]) -> dict[str, object]:
    """Returns what a reply says beside its text: the calls of tools, which are the output where there is none, and probabilities."""
    beyond: dict[str, object] = {}
    if log_probs:
        beyond["told"] = AnswerFacts(response={"logProbs": [*log_probs]})
    if value is not None:
        calls = value.get("tool_calls", [value]) if isinstance(value, dict) else value
        beyond["tool_calls"] = tool_calls_of(calls)
        if not text or isinstance(value, dict):
            beyond["output"] = {"output": value}
    return beyond


def _observed(
    name: str, ref: str | None, text: str, *, finish: str, timeout_ms: int | None, latency_ms: float
) -> Observed:
    return Observed(
        output={"output": text},
        prompt_version_ref=ref,
        produced_by=name,
        latency_ms=latency_ms,
        finish_reason=finish,
        timed_out=timeout_ms is not None and latency_ms > timeout_ms,
    )
