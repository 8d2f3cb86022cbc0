"""The context of resolvers."""

from __future__ import annotations

from dataclasses import dataclass

import strawberry

from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.server.session.opened import ServerSession


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a resolver."""

    session: ServerSession
    speaker: Speaker | None = None
    """The person whose token came with the request."""


Info = strawberry.Info[Context, None]
