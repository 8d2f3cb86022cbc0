"""A model that acts on a world: its calls of tools are carried out and their results sent back, until it says its last word."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.replies import Completion, FailedReply, Reply, TokenUsage
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.targets.conversation import takes_calls

if TYPE_CHECKING:
    from minions_evals_mcp.world.reaching import OfferedTool, WorldTools

MAX_REPLIES = 30
MAX_CALLS = 100
_MESSAGES_CLIENT = "anthropic_client"


@frozen_type
class LoopEnd:
    """How a loop ended: the last reply, with what all of them cost, and all that was said. `broken_off`: the limit it met."""

    reply: Reply
    messages: tuple[Json, ...]
    broken_off: str | None = None


@frozen_type
class ModelCall:
    """A call of a tool as a model asked for it; no arguments where they are no JSON object."""

    ident: str
    name: str
    arguments: Json | None


def vet_acting(provider: str, model: str) -> None:
    """Raises `BadInputError` for a model whose interface takes no results of tools back."""
    if PROVIDERS[provider].client != _MESSAGES_CLIENT and not takes_calls(provider, model):
        raise BadInputError(
            f"{provider}:{model} cannot use a world: its API accepts no tool results.",
            remedy="Name a chat model, without responses: before its name.",
        )


@frozen_type
class ToolLoop:
    """A model with the tools of a world. Each reply has at most `max_tokens`, each attempt for one ends after `deadline_s`."""

    client: ModelClient
    model: str
    tools: WorldTools
    max_tokens: int
    deadline_s: float

    async def held(self, system: str, messages: Sequence[Json], *, timeout_ms: int | None) -> LoopEnd:
        """Asks until a reply calls no tool, a limit is met, or the time is over; what has begun by then is not broken off."""
        said = [*messages]
        replies: list[Reply] = []
        started, calls = time.perf_counter(), 0

        def ended(broken_off: str | None = None) -> LoopEnd:
            latency_ms = (time.perf_counter() - started) * 1000
            return LoopEnd(_summed(replies, latency_ms), tuple(said), broken_off)

        while True:
            replies.append(reply := await self.client.complete(self._request(system, said), deadline_s=self.deadline_s))
            if isinstance(reply, Completion) and reply.message is not None:
                said.append(reply.message)
            elif not isinstance(reply, FailedReply) and reply.text:
                said.append({"role": "assistant", "content": reply.text})
            if not isinstance(reply, Completion) or reply.message is None:
                return ended()
            wanted = calls_in(reply.message)
            calls += len(wanted)
            if len(replies) >= MAX_REPLIES or calls > MAX_CALLS:
                limit = f"{MAX_CALLS} calls" if calls > MAX_CALLS else f"{MAX_REPLIES} replies"
                return ended(f"it still called tools after {limit}")
            results = [(call, *await self._carried_out(call)) for call in wanted]
            said.extend(self._results(results))
            if timeout_ms is not None and (time.perf_counter() - started) * 1000 > timeout_ms:
                return ended("the time limit was reached")

    def _request(self, system: str, messages: list[Json]) -> ModelRequest:
        params: Json = {"messages": [*messages]}
        if self.tools.offered:
            params["tools"] = [*map(self._tool, self.tools.offered)]
        # The messages join the body in place of the one turn, which is only what the cost is estimated from.
        estimated = canonical(params)
        if not self._speaks_messages and system:
            params["messages"] = [{"role": "system", "content": system}, *messages]
        apart = system if self._speaks_messages and system else None
        return ModelRequest(self.model, estimated, self.max_tokens, system=apart, params=params)

    @property
    def _speaks_messages(self) -> bool:
        return PROVIDERS[self.client.provider].client == _MESSAGES_CLIENT

    def _tool(self, tool: OfferedTool) -> JsonValue:
        if self._speaks_messages:
            return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        function: Json = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        return {"type": "function", "function": function}

    async def _carried_out(self, call: ModelCall) -> tuple[str, bool]:
        if call.arguments is None:
            return "The arguments are not a JSON object.", True
        with anyio.move_on_after(self.deadline_s):
            return await self.tools.call(call.name, call.arguments)
        return f"{call.name} did not answer within {self.deadline_s:g} s.", True

    def _results(self, results: list[tuple[ModelCall, str, bool]]) -> list[Json]:
        """The results as messages."""
        if not self._speaks_messages:
            return [{"role": "tool", "tool_call_id": call.ident, "content": text} for call, text, _ in results]
        blocks: list[JsonValue] = [
            {"type": "tool_result", "tool_use_id": call.ident, "content": text, "is_error": is_error}
            for call, text, is_error in results
        ]
        return [{"role": "user", "content": blocks}]


def calls_in(message: Json) -> list[ModelCall]:
    """The calls of tools in a model's message, in either of the two interfaces."""
    calls, content = message.get("tool_calls"), message.get("content")
    if isinstance(calls, list):
        return [_chat_call(call) for call in calls if isinstance(call, dict)]
    blocks = content if isinstance(content, list) else []
    return [
        ModelCall(str(block.get("id")), str(block.get("name")), given if isinstance(given, dict) else None)
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
        for given in (block.get("input"),)
    ]


def _chat_call(call: Json) -> ModelCall:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    try:
        arguments: JsonValue = json.loads(str(function.get("arguments") or "{}"))
    except (ValueError, RecursionError):
        arguments = None
    return ModelCall(str(call.get("id")), str(function.get("name")), arguments if isinstance(arguments, dict) else None)


def _summed(replies: list[Reply], latency_ms: float) -> Reply:
    """The last reply with the time, the tokens and the cost of all."""
    last = replies[-1]
    if isinstance(last, FailedReply):
        return last
    spoken = [reply for reply in replies if not isinstance(reply, FailedReply)]
    costs = [reply.cost_usd for reply in spoken]
    usages = [reply.usage for reply in spoken]
    usage = None if None in usages else TokenUsage(
        sum(usage.input_tokens for usage in usages if usage), sum(usage.output_tokens for usage in usages if usage)
    )  # fmt: skip
    cost = None if None in costs else sum(cost for cost in costs if cost)
    return replace(last, latency_ms=latency_ms, usage=usage, cost_usd=cost)
