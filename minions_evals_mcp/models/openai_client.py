"""Chat completions at any OpenAI-compatible endpoint, Gemini's included, through the `openai` SDK (an extra)."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Count
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.models.client import Answer, Retrying, RetrySettings
from minions_evals_mcp.models.faults import Fault, fault_of_connection, fault_of_status, malformed
from minions_evals_mcp.models.replies import FaultKind, Reply, Usage
from minions_evals_mcp.models.request import ModelRequest

OPENAI_URL = "https://api.openai.com/v1"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/openai/"


class _Part(BaseModel):
    """A part of a reply; what we do not read may be anything."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _Message(_Part):
    content: str | None = None
    refusal: str | None = None


class _Choice(_Part):
    message: _Message
    finish_reason: str = Field(min_length=1)


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


class OpenAIClient:
    """A `ModelClient` for OpenAI, Gemini or a local server."""

    def __init__(
        self,
        *,
        provider: Literal["openai", "gemini"],
        api_key: str,
        base_url: str,
        concurrency: int,
        retry: RetrySettings,
    ) -> None:
        if find_spec("openai") is None:
            raise UnsupportedError(
                f"the provider {provider!r} needs the package openai, which is not installed.",
                remedy="Install it with: pip install 'minions-evals-mcp[openai]'",
            )
        import openai  # noqa: PLC0415 - an extra, and slow: imported at first use

        self.provider: Literal["openai", "gemini"] = provider
        self._errors = openai
        self._sdk = openai.AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            timeout=None,
            http_client=openai.DefaultAioHttpClient(),
        )
        self._create = self._sdk.chat.completions.with_raw_response.create
        self._limit_name = token_limit_name(base_url)
        self._retrying = Retrying(provider, self._attempt, concurrency=concurrency, settings=retry)

    @property
    def fault_counts(self) -> Counter[FaultKind]:
        """Faults met since the start, by kind, cured ones included."""
        return self._retrying.fault_counts

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """The model's reply, or why there is none."""
        return await self._retrying.complete(request, deadline_s=deadline_s)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._sdk.close()

    async def _attempt(self, request: ModelRequest) -> Answer | Fault:
        try:
            response = await self._create(
                model=request.model,
                messages=[{"role": "user", "content": request.user}],
                extra_body=_extra_body(request, self._limit_name),
            )
        except self._errors.APIStatusError as error:
            return fault_of_status(error.status_code, error.response.headers, error.response.text)
        except self._errors.APIConnectionError as error:
            return fault_of_connection(error)
        return _answer(response.http_response.content)


def token_limit_name(base_url: str) -> str:
    """What `max_tokens` is called there: OpenAI's newer models refuse that name, other servers know no other."""
    return "max_completion_tokens" if base_url == OPENAI_URL else "max_tokens"


def _extra_body(request: ModelRequest, limit_name: str) -> Json:
    body: Json = {limit_name: request.max_tokens, **request.params}
    if request.system is not None:
        body["messages"] = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
    if request.schema is not None:
        wanted: Json = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return body


def _answer(content: bytes) -> Answer | Fault:
    try:
        chat = _Chat.model_validate_json(content)
    except ValidationError as error:
        return malformed(error)
    choice = chat.choices[0]
    ending = _ending(choice)
    if ending == "complete" and choice.message.content is None:
        return Fault("malformed", "malformed reply: choices.0.message.content: no text")
    return Answer(
        ending=ending,
        text=choice.message.content or "",
        model=chat.model,
        stop_reason=choice.finish_reason,
        usage=chat.usage and _usage(chat.usage),
        explanation=choice.message.refusal or "",
    )


def _ending(choice: _Choice) -> Literal["complete", "truncated", "refused"]:
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return "refused"
    return "truncated" if choice.finish_reason == "length" else "complete"


def _usage(tokens: _Tokens) -> Usage:
    """OpenAI counts what the cache served among `prompt_tokens`."""
    served = (tokens.prompt_tokens_details and tokens.prompt_tokens_details.cached_tokens) or 0
    return Usage(tokens.prompt_tokens, tokens.completion_tokens, min(served, tokens.prompt_tokens))
