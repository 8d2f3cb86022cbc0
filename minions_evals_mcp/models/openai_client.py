"""Chat completions at any OpenAI-compatible endpoint, Gemini's included; through the `openai` SDK where more than a key is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.providers import LIMITS, PROVIDERS
from minions_evals_mcp.domain.values import Count
from minions_evals_mcp.models.client import ModelConnection, RetriedClient, Retrying
from minions_evals_mcp.models.departure import departed_at
from minions_evals_mcp.models.direct import DirectCalls, DirectWeb, needs_key_only
from minions_evals_mcp.models.faults import (
    AttemptFault,
    fault_of_event,
    malformed,
)
from minions_evals_mcp.models.negotiation import Negotiation
from minions_evals_mcp.models.replies import Answered, Completion, RefusedReply, TokenUsage, Truncated
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.responses import RESPONSES, read_response, responses_body
from minions_evals_mcp.models.sdk_web import Prepared, vetted, web_of
from minions_evals_mcp.models.streaming import read_reply

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


class _Part(BaseModel):
    """A part of a reply; what we do not read may be anything."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _ContentPart(_Part):
    type: str
    text: str | None = None


CHATS, RESPONSES_PATH = "/chat/completions", "/responses"
TEXT_TYPES = ("text", "output_text")


class _Message(_Part):
    """The model's message; whatever else came with it is kept, for what tells the message whole."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    content: str | None = None
    refusal: str | None = None
    tool_calls: list[JsonValue] | None = None
    function_call: JsonValue = None
    role: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _joined(cls, content: JsonValue) -> JsonValue:
        """Some servers send a message's text in parts, with what the model thought among them."""
        if not isinstance(content, list):
            return content
        parts = [_ContentPart.model_validate(part) for part in content]
        texts = [part.text for part in parts if part.type in TEXT_TYPES and part.text is not None]
        return "".join(texts) if texts else None


class _Token(_Part):
    logprob: float = Field(strict=False)


class _LogProbs(_Part):
    content: list[_Token] | None = None


class _Choice(_Part):
    message: _Message
    finish_reason: str = Field(min_length=1)
    logprobs: _LogProbs | None = None


class _CacheUse(_Part):
    cached_tokens: Count | None = None


class _Tokens(_Part):
    prompt_tokens: Count
    completion_tokens: Count
    prompt_tokens_details: _CacheUse | None = None


class _Chat(_Part):
    model: str = ""
    choices: list[_Choice] = Field(min_length=1)
    usage: _Tokens | None = None


class _PieceChoice(_Part):
    index: int = 0
    delta: _Message = _Message()
    finish_reason: str | None = None


class _Piece(_Part):
    model: str = ""
    choices: list[_PieceChoice] = []
    usage: _Tokens | None = None
    error: JsonValue = None


class _Gathered:
    """A chat completion that comes in pieces: what was said so far."""

    def __init__(self) -> None:
        self._model = ""
        self._content: str | None = None
        self._refusal: str | None = None
        self._finish: str | None = None
        self._usage: _Tokens | None = None

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._content or ""

    def take(self, event: bytes) -> Answered | AttemptFault | None:
        """The whole answer after the last piece, what went wrong, or None while it goes on."""
        if event.strip() == b"[DONE]":
            return self._answer()
        piece = _Piece.model_validate_json(event)
        if piece.error is not None:
            return fault_of_event(event)
        self._model = piece.model or self._model
        self._usage = piece.usage or self._usage
        for choice in (choice for choice in piece.choices if choice.index == 0):
            self._add(choice.delta)
            self._finish = choice.finish_reason or self._finish
        return None

    def _add(self, delta: _Message) -> None:
        if delta.content is not None:
            self._content = self.text + delta.content
        if delta.refusal is not None:
            self._refusal = (self._refusal or "") + delta.refusal

    def _answer(self) -> Answered | AttemptFault:
        usage = None if self._usage is None else self._usage.model_dump()
        message = {"content": self._content, "refusal": self._refusal}
        choice = {"message": message, "finish_reason": self._finish}
        return _reply_of(_Chat.model_validate({"model": self._model, "choices": [choice], "usage": usage}))


def open_web(connection: ModelConnection) -> httpx2.AsyncClient:
    """Returns what the SDK sends by."""
    import openai  # noqa: PLC0415 - slow: imported at first use

    return web_of(connection, openai)


def open_sdk(connection: ModelConnection, web: httpx2.AsyncClient | None = None) -> AsyncOpenAI:
    """The SDK's client without retries and limits of its own."""
    import openai  # noqa: PLC0415 - slow: imported at first use

    web = web or open_web(connection)
    key, address = connection.api_key, connection.base_url
    sdk = openai.AsyncOpenAI(api_key=key, base_url=address, max_retries=0, timeout=None, http_client=web)
    return vetted(sdk, connection)


class OpenAIClient(RetriedClient):
    """A `ModelClient` for OpenAI, Gemini or a local server."""

    def __init__(self, connection: ModelConnection) -> None:
        self.provider = connection.provider
        self._retrying = Retrying(connection, self._attempt, Negotiation(token_limit_names(connection.base_url)))
        headers = {"Authorization": f"Bearer {connection.api_key}"}
        if needs_key_only(connection, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS"):
            direct = DirectWeb(connection, headers)
            self._chats, self._responses = DirectCalls(direct, CHATS), DirectCalls(direct, RESPONSES_PATH)
            self._close = direct.close
            return
        web = open_web(connection)
        sdk = open_sdk(connection, web)
        headers |= {name: value for name, value in sdk.default_headers.items() if isinstance(value, str)}
        self._chats = Prepared(web, sdk.base_url, CHATS, headers)
        self._responses = Prepared(web, sdk.base_url, RESPONSES_PATH, headers)
        self._close = sdk.close

    async def aclose(self) -> None:
        """Close every connection."""
        await self._close()

    def _limits(self, request: ModelRequest) -> tuple[str, ...]:
        return self._retrying.negotiation.terms(request.model).limits

    async def _attempt(self, request: ModelRequest) -> Answered | AttemptFault:
        if request.model.startswith(RESPONSES):
            content = await self._responses.post(responses_body(request))
            return content if isinstance(content, AttemptFault) else read_response(content)
        if not request.stream:
            content = await self._chats.post({**chat_body(request), **chat_extra(request, self._limits(request))})
            return content if isinstance(content, AttemptFault) else read_chat(content)
        body = {**chat_body(request), **chat_extra(request, self._limits(request))}
        streamed: Json = {**body, "stream": True, "stream_options": {"include_usage": True}}
        return await self._chats.streamed(
            streamed, lambda response: read_reply(response, _Gathered(), whole=read_chat, sent_at=departed_at())
        )


def token_limit_names(base_url: str) -> tuple[str, ...]:
    """The names of the longest reply there, the likeliest first: OpenAI's newer models refuse `max_tokens`, other servers know no other."""
    newest_first = base_url == PROVIDERS["openai"].url
    return LIMITS[::-1] if newest_first else LIMITS


def chat_body(request: ModelRequest) -> Json:
    """The parts of a request that every call has."""
    return {"model": request.model, "messages": [{"role": "user", "content": request.user}]}


def chat_extra(request: ModelRequest, limits: tuple[str, ...]) -> Json:
    """The request's own parameters; `limits` are the names of the longest reply, the likeliest first."""
    limit: Json = {limits[0]: request.max_tokens} if limits else {}
    body: Json = {**limit, **request.params}
    if request.system is not None:
        body["messages"] = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
    if request.schema is not None:
        wanted: Json = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return body


def read_chat(content: bytes) -> Answered | AttemptFault:
    """What a whole reply says."""
    try:
        return _reply_of(_Chat.model_validate_json(content))
    except ValidationError as error:
        return malformed(error)


def _reply_of(chat: _Chat) -> Answered | AttemptFault:
    choice = chat.choices[0]
    message, stop, value = choice.message, choice.finish_reason, _calls(choice.message)
    parts = (message.content or "", chat.model, stop, chat.usage and _usage(chat.usage))
    log_probs = tuple(token.logprob for token in (choice.logprobs and choice.logprobs.content) or ())
    if message.refusal or stop == "content_filter":
        return RefusedReply(*parts, value=value, log_probs=log_probs, explanation=message.refusal or "")
    if stop == "length":
        return Truncated(*parts, value=value, log_probs=log_probs)
    if message.content is None and value is None:
        return AttemptFault("malformed", "malformed reply: choices.0.message.content: no text")
    return Completion(*parts, value=value, log_probs=log_probs, message=_sent_back(message))


def _calls(message: _Message) -> JsonValue:
    """Returns what a message with calls of tools says, as promptfoo tells it: the calls, or all of it where there is text, too."""
    calls: JsonValue = message.function_call or message.tool_calls or None
    if calls is None or not message.content:
        return calls
    return message.model_dump(mode="json", exclude_unset=True)


def _sent_back(message: _Message) -> Json | None:
    """The message that calls tools as it stands before their results; what else servers put into it, not all take back."""
    calls = message.tool_calls
    return {"role": "assistant", "content": message.content, "tool_calls": calls} if calls else None


def _usage(tokens: _Tokens) -> TokenUsage:
    """OpenAI counts what the cache served among `prompt_tokens`."""
    served = (tokens.prompt_tokens_details and tokens.prompt_tokens_details.cached_tokens) or 0
    return TokenUsage(tokens.prompt_tokens, tokens.completion_tokens, min(served, tokens.prompt_tokens))


open_client = OpenAIClient
