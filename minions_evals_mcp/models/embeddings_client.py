"""Embeddings at any OpenAI-compatible endpoint, Gemini's included, through the `openai` SDK.

The texts of one call travel as a JSON list in the request's `user`, their vectors come back as one in the reply's
`text`: so the deadline, the retries, the classified faults and the adaptive limit are those of every other call.
"""

from __future__ import annotations

import json
import math

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from minions_evals_mcp.domain.values import Count
from minions_evals_mcp.models.client import ModelConnection, RetriedClient, Retrying
from minions_evals_mcp.models.faults import AttemptFault, fault_of_connection, fault_of_status, malformed
from minions_evals_mcp.models.openai_client import open_sdk
from minions_evals_mcp.models.replies import Answered, Completion, TokenUsage
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.outgoing import UnacceptableReplyError


class _Part(BaseModel):
    """A part of a reply; what we do not read may be anything."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _Row(_Part):
    index: Count
    embedding: list[float] = Field(min_length=1)


class _Tokens(_Part):
    prompt_tokens: Count


class _List(_Part):
    model: str = ""
    data: list[_Row]
    usage: _Tokens | None = None


class OpenAIEmbeddings(RetriedClient):
    """A `ModelClient` whose answers are vectors."""

    def __init__(self, connection: ModelConnection) -> None:
        self._sdk = open_sdk(connection)
        import openai  # noqa: PLC0415 - slow: imported at first use

        self.provider = connection.provider
        self._errors = openai
        self._create = self._sdk.embeddings.with_raw_response.create
        self._retrying = Retrying(connection, self._attempt)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._sdk.close()

    async def _attempt(self, request: ModelRequest) -> Answered | AttemptFault:
        texts: list[str] = json.loads(request.user)
        try:
            response = await self._create(model=request.model, input=texts, encoding_format="float")
        except self._errors.APIStatusError as error:
            return fault_of_status(error.status_code, error.response.headers, error.response.text)
        except (self._errors.APIConnectionError, UnacceptableReplyError) as error:
            return fault_of_connection(error)
        return _answer(response.http_response.content, text_count=len(texts))


def _answer(content: bytes, *, text_count: int) -> Answered | AttemptFault:
    try:
        vectors = _List.model_validate_json(content)
    except ValidationError as error:
        return malformed(error)
    rows = sorted(vectors.data, key=lambda row: row.index)
    if [row.index for row in rows] != list(range(text_count)):
        return AttemptFault("malformed", f"malformed reply: {len(rows)} vectors for {text_count} texts")
    if len({len(row.embedding) for row in rows}) > 1 or not all(map(_is_finite, rows)):
        return AttemptFault("malformed", "malformed reply: vectors of different lengths, or with invalid numbers")
    usage = vectors.usage and TokenUsage(vectors.usage.prompt_tokens, 0)
    text = json.dumps([row.embedding for row in rows])
    return Completion(text, vectors.model, "stop", usage)


def _is_finite(row: _Row) -> bool:
    return all(map(math.isfinite, row.embedding))


open_client = OpenAIEmbeddings
