"""Anthropic's Messages API; through the official SDK where more than a key is needed."""

from __future__ import annotations

import json
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Count
from minions_evals_mcp.models.client import ModelConnection, RetriedClient, Retrying
from minions_evals_mcp.models.departure import departed_at
from minions_evals_mcp.models.direct import DirectCalls, DirectWeb, needs_key_only
from minions_evals_mcp.models.faults import (
    AttemptFault,
    fault_of_event,
    malformed,
)
from minions_evals_mcp.models.replies import Answered, Completion, RefusedReply, TokenUsage, Truncated
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.sdk_web import Prepared, vetted, web_of
from minions_evals_mcp.models.streaming import read_reply

TOOL_USE = "tool_use"
TRUNCATIONS = ("max_tokens", "model_context_window_exceeded")


class _Part(BaseModel):
    """A part of a reply. The SDK hands on whatever JSON came, so the parts that we read are checked here."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _Block(_Part):
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    type: str
    text: str | None = None

    @model_validator(mode="after")
    def _text_has_text(self) -> Self:
        if self.type == "text" and self.text is None:
            raise ValueError("a text block without text")
        return self


class _Tokens(_Part):
    input_tokens: Count
    output_tokens: Count
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class _StopDetails(_Part):
    explanation: str | None = None


class _Message(_Part):
    model: str
    content: list[_Block]
    stop_reason: str = Field(min_length=1)
    stop_details: _StopDetails | None = None
    usage: _Tokens | None = None


class _Started(_Part):
    model: str
    usage: _Tokens | None = None


class _Delta(_Part):
    type: str | None = None
    text: str | None = None
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None


class _LastTokens(_Part):
    output_tokens: Count


class _Event(_Part):
    type: str
    message: _Started | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _LastTokens | None = None


class _Gathered:
    """A message that comes in events: what was said so far."""

    def __init__(self) -> None:
        self.text = ""
        self._message: Json = {}
        self._usage: _Tokens | None = None

    def take(self, event: bytes) -> Answered | AttemptFault | None:
        """The whole answer once the message has stopped, what went wrong, or None while it goes on."""
        read_event = _Event.model_validate_json(event)
        match read_event.type:
            case "message_start" if read_event.message is not None:
                self._message["model"] = read_event.message.model
                self._usage = read_event.message.usage
            case "content_block_start" if read_event.content_block is not None:
                self.text += read_event.content_block.text or ""
            case "content_block_delta" if read_event.delta is not None:
                self.text += read_event.delta.text or ""
            case "message_delta" if read_event.delta is not None:
                self._ends(read_event.delta, read_event.usage)
            case "message_stop":
                return self._answer()
            case "error":
                return fault_of_event(event)
            case _:
                pass  # a ping, the end of a block, and whatever kinds are made later
        return None

    def _ends(self, delta: _Delta, usage: _LastTokens | None) -> None:
        self._message["stop_reason"] = delta.stop_reason
        if delta.stop_details is not None:
            self._message["stop_details"] = delta.stop_details.model_dump()
        if self._usage is not None and usage is not None:
            self._usage = self._usage.model_copy(update={"output_tokens": usage.output_tokens})

    def _answer(self) -> Answered:
        usage = None if self._usage is None else self._usage.model_dump()
        content: list[JsonValue] = [{"type": "text", "text": self.text}]
        return _reply_of(_Message.model_validate({**self._message, "content": content, "usage": usage}))


class AnthropicClient(RetriedClient):
    """A `ModelClient` for Anthropic and for whatever speaks the Messages API under `base_url`."""

    def __init__(self, connection: ModelConnection) -> None:
        self.provider = connection.provider
        self._retrying = Retrying(connection, self._attempt)
        if needs_key_only(connection, "ANTHROPIC_CUSTOM_HEADERS"):
            direct = DirectWeb(connection, key_headers(connection.api_key))
            self._messages, self._close = DirectCalls(direct, "/v1/messages"), direct.close
            return
        import anthropic  # noqa: PLC0415 - 0.9 s: imported at first use

        web = web_of(connection, anthropic)
        sdk = anthropic.AsyncAnthropic(
            api_key=connection.api_key,
            base_url=connection.base_url,
            max_retries=0,
            timeout=None,
            open_telemetry=False,  # its attributes are worked out on each call, whether or not anyone listens
            http_client=web,
        )
        sdk = vetted(sdk, connection)
        self._messages, self._close = Prepared(web, sdk.base_url, "/v1/messages", sdk.default_headers), sdk.close

    async def aclose(self) -> None:
        """Close every connection."""
        await self._close()

    async def _attempt(self, request: ModelRequest) -> Answered | AttemptFault:
        if not request.stream:
            content = await self._messages.post({**messages_body(request), **messages_extra(request)})
            return content if isinstance(content, AttemptFault) else read_message(content)
        streamed: Json = {**messages_body(request), **messages_extra(request), "stream": True}
        return await self._messages.streamed(
            streamed, lambda response: read_reply(response, _Gathered(), whole=read_message, sent_at=departed_at())
        )


def key_headers(key: str) -> dict[str, str]:
    """The SDK's own headers for a key, and the version of the interface that is read here."""
    return {"Authorization": f"Bearer {key}", "anthropic-version": "2026-10-21"}


def messages_body(request: ModelRequest) -> Json:
    """The parts of a request that every call has."""
    return {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [{"role": "user", "content": request.user}],
    }


def messages_extra(request: ModelRequest) -> Json:
    """The request's own parameters; a schema joins an `output_config` (effort) that stands among them."""
    body = dict(request.params)
    if request.system is not None:
        body["system"] = request.system
    if request.schema is not None:
        config = body.get("output_config")
        wanted: Json = {"type": "json_schema", "schema": request.schema}
        body["output_config"] = {**(config if isinstance(config, dict) else {}), "format": wanted}
    return body


def read_message(content: bytes) -> Answered | AttemptFault:
    """What a whole reply says."""
    try:
        return _reply_of(_Message.model_validate_json(content))
    except ValidationError as error:
        return malformed(error)


def _reply_of(message: _Message) -> Answered:
    stop, value = message.stop_reason, _uses(message.content)
    parts = (_text(message.content), message.model, stop, message.usage and _usage(message.usage))
    if stop == "refusal":
        why = message.stop_details and message.stop_details.explanation
        return RefusedReply(*parts, value=value, explanation=why or "")
    if stop in TRUNCATIONS:
        return Truncated(*parts, value=value)
    blocks: list[JsonValue] = [block.model_dump(exclude_unset=True) for block in message.content]
    sent_back: Json | None = None if value is None else {"role": "assistant", "content": blocks}
    return Completion(*parts, value=value, message=sent_back)


def _text(blocks: list[_Block]) -> str:
    """Returns what the blocks say; where tools are used, each use as JSON among them, as promptfoo tells it."""
    if not any(block.type == TOOL_USE for block in blocks):
        return "".join(block.text for block in blocks if block.type == "text" and block.text)
    texts = (
        block.text if block.type == "text" else _as_json(block) for block in blocks if block.type in ("text", TOOL_USE)
    )
    return "\n\n".join(part for part in texts if part)


def _uses(blocks: list[_Block]) -> JsonValue:
    """The uses of tools, for the log of calls; None where there are none."""
    uses: list[JsonValue] = [block.model_dump(exclude={"text"}) for block in blocks if block.type == TOOL_USE]
    return uses or None


def _as_json(block: _Block) -> str:
    return json.dumps(block.model_dump(exclude={"text"}), ensure_ascii=False, separators=(",", ":"))


def _usage(tokens: _Tokens) -> TokenUsage:
    """Anthropic counts what the cache served and kept beside `input_tokens`, not in it."""
    served, written = tokens.cache_read_input_tokens or 0, tokens.cache_creation_input_tokens or 0
    return TokenUsage(tokens.input_tokens + served + written, tokens.output_tokens, served, written)


open_client = AnthropicClient
