"""The caller of a tool: a person where their token came with the request, else the agent that its client is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minions_evals_mcp.domain.speaker import AGENTS, Speaker

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.mcpserver import Context
    from starlette.requests import Request
    from starlette.types import Scope

PERSON_STATE = "minions_evals_person"
"""Under this name the HTTP door keeps, with the request, whose token it brought."""
LONGEST_NAME = 128


def speaker_of(context: Context[Any, Any]) -> Speaker:
    """Who speaks in this call; over stdio always an agent."""
    return person_of(context.request_context) or Speaker(name=client_name(context))


def person_of(request_context: ServerRequestContext[Any, Any]) -> Speaker | None:
    """The person whose token came with the request."""
    request: Request | None = request_context.request
    return None if request is None else person_in(request.scope)


def takes_forms_from(request_context: ServerRequestContext[Any, Any]) -> bool:
    """Whether an answer to a form is a person's word: over HTTP with the token of one who may judge, over stdio as the host shows it."""
    person = person_of(request_context)
    return request_context.request is None if person is None else person.may("judge")


def person_in(scope: Scope) -> Speaker | None:
    """The person whose token came with that HTTP request."""
    found = scope.get("state", {}).get(PERSON_STATE)
    return found if isinstance(found, Speaker) else None


def client_name(context: Context[Any, Any] | None) -> str:
    """The name that the caller's client gave of itself."""
    known = None if context is None else context.request_context.session.client_params
    given = "" if known is None else known.client_info.name.strip()
    return given[:LONGEST_NAME] or AGENTS
