"""A request to a model."""

from __future__ import annotations

from dataclasses import field

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.frozen_types import frozen_type


@frozen_type
class ModelRequest:
    """One turn. `schema` is the JSON schema that the reply shall fit; `params` join the request's body as they are.

    `stream`: the reply is read piece by piece, so that the time of its first token is known. `label` and `variables` are for
    code that answers in a model's place: what is asked, and what its words were filled with. `optional` are the `params`
    that are left out where the endpoint refuses them by name.
    """

    model: str
    user: str
    max_tokens: int
    system: str | None = None
    schema: Json | None = None
    params: Json = field(default_factory=dict[str, JsonValue])
    stream: bool = False
    optional: tuple[str, ...] = ()
    label: str = ""
    variables: Json = field(default_factory=dict[str, JsonValue])
