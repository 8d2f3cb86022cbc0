"""The embedder that a name stands for, and embedders behind an API."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import ConfigDict, TypeAdapter

from minions_evals_mcp.domain.providers import examples, with_embeddings
from minions_evals_mcp.embedding.embedder import Embedder, PieceEmbedder, Vector
from minions_evals_mcp.embedding.local import SEMANTIC, WORDLLAMA, semantic_embedder, wordllama_embedder
from minions_evals_mcp.errors import InstrumentError, UnsupportedError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.registry import ModelRef, Models, parse_model
from minions_evals_mcp.models.replies import Completion, FailedReply
from minions_evals_mcp.models.request import ModelRequest

DEFAULT_EMBEDDER = WORDLLAMA
_VECTORS: TypeAdapter[list[list[float]]] = TypeAdapter(list[list[float]], config=ConfigDict(defer_build=True))


def open_embedder(name: str, models: Models) -> Embedder:
    """The embedder of that name: `wordllama`, `semantic`, or `openai:MODEL` at any OpenAI-compatible endpoint.

    A local model is loaded at its first use. Raises `UnsupportedError` for another name or a package that is not
    installed, `BadInputError` where a key is missing.
    """
    if name == WORDLLAMA:
        return wordllama_embedder()
    if name == SEMANTIC:
        return semantic_embedder()
    vet_embedder(name)
    ref = parse_model(name)
    return model_embedder(ref, models.embeddings(ref), deadline_s=models.settings.call_timeout_s)


def vet_embedder(name: str) -> None:
    """Raises `UnsupportedError` for a name that stands for no embedder."""
    if name not in {WORDLLAMA, SEMANTIC} and name.partition(":")[0] not in {row.name for row in with_embeddings()}:
        remedy = f"Use {WORDLLAMA}, {SEMANTIC} or one of {examples(with_embeddings())}."
        raise UnsupportedError(f"unknown embedder {name!r}.", remedy=remedy)


def model_embedder(ref: ModelRef, client: ModelClient, *, deadline_s: float) -> Embedder:
    """The embedder behind that client, which raises `InstrumentError` where a call fails."""
    return PieceEmbedder(str(ref), _Requested(str(ref), ref.model, client, deadline_s), piece=6_000, batch=32)


@frozen_type
class _Requested:
    """The vectors of a model behind an API."""

    name: str
    model: str
    client: ModelClient
    deadline_s: float

    async def __call__(self, texts: Sequence[str]) -> list[Vector]:
        request = ModelRequest(model=self.model, user=json.dumps([*texts]), max_tokens=0)
        reply = await self.client.complete(request, deadline_s=self.deadline_s)
        if isinstance(reply, FailedReply):
            raise InstrumentError(f"the embedder {self.name} failed: {reply.kind}: {reply.reason}")
        assert isinstance(reply, Completion), "vectors are neither cut off nor refused"
        return [*_VECTORS.validate_json(reply.text)]
