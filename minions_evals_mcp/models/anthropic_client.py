"""Anthropic's Messages API through the official SDK, which is imported when a client is made."""

from __future__ import annotations

from collections import Counter
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Count
from minions_evals_mcp.models.client import Answer, Retrying, RetrySettings
from minions_evals_mcp.models.faults import Fault, fault_of_connection, fault_of_status, malformed
from minions_evals_mcp.models.replies import FaultKind, Reply, Usage
from minions_evals_mcp.models.request import ModelRequest

ANTHROPIC_URL = "https://api.anthropic.com"
TRUNCATIONS = ("max_tokens", "model_context_window_exceeded")


class _Part(BaseModel):
    """A part of a reply. The SDK hands on whatever JSON came, so the parts that we read are checked here."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _Block(_Part):
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


class AnthropicClient:
    """A `ModelClient` for Anthropic and for whatever speaks the Messages API under `base_url`."""

    provider = "anthropic"

    def __init__(self, *, api_key: str, base_url: str, concurrency: int, retry: RetrySettings) -> None:
        import anthropic  # noqa: PLC0415 - 0.9 s: imported at first use

        self._errors = anthropic
        self._sdk = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            timeout=None,
            open_telemetry=False,  # its attributes are worked out on each call, whether or not anyone listens
            http_client=anthropic.DefaultAioHttpClient(),
        )
        self._create = self._sdk.messages.with_raw_response.create
        self._retrying = Retrying(self.provider, self._attempt, concurrency=concurrency, settings=retry)

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
                max_tokens=request.max_tokens,
                messages=[{"role": "user", "content": request.user}],
                extra_body=_extra_body(request),
            )
        except self._errors.APIStatusError as error:
            return fault_of_status(error.status_code, error.response.headers, error.response.text)
        except self._errors.APIConnectionError as error:
            return fault_of_connection(error)
        return _answer(response.http_response.content)


def _extra_body(request: ModelRequest) -> Json:
    """The request's own parameters; a schema joins an `output_config` (effort) that stands among them."""
    body = dict(request.params)
    if request.system is not None:
        body["system"] = request.system
    if request.schema is not None:
        config = body.get("output_config")
        wanted: Json = {"type": "json_schema", "schema": request.schema}
        body["output_config"] = {**(config if isinstance(config, dict) else {}), "format": wanted}
    return body


def _answer(content: bytes) -> Answer | Fault:
    try:
        message = _Message.model_validate_json(content)
    except ValidationError as error:
        return malformed(error)
    stop = message.stop_reason
    return Answer(
        ending="truncated" if stop in TRUNCATIONS else "refused" if stop == "refusal" else "complete",
        text="".join(block.text for block in message.content if block.type == "text" and block.text),
        model=message.model,
        stop_reason=stop,
        usage=message.usage and _usage(message.usage),
        explanation=(message.stop_details and message.stop_details.explanation) or "",
    )


def _usage(tokens: _Tokens) -> Usage:
    """Anthropic counts what the cache served and kept beside `input_tokens`, not in it."""
    served, kept = tokens.cache_read_input_tokens or 0, tokens.cache_creation_input_tokens or 0
    return Usage(tokens.input_tokens + served + kept, tokens.output_tokens, served, kept)
