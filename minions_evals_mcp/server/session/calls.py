"""One call of a tool: what its function works with, who makes it, and whether a person can be asked within it.

The caller is a person where their token came with the request, else the agent that its client is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types.version import is_version_at_least

from minions_evals_mcp.domain.speaker import AGENTS, Speaker

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.mcpserver import Context
    from mcp_types import ClientCapabilities
    from starlette.requests import Request
    from starlette.types import Scope

    from minions_evals_mcp.operations.engine import Engine
    from minions_evals_mcp.server.session.background_runs import Runs

STATELESS = "2026-07-28"
"""From here on the server cannot call the host: the question is the answer, and the host calls again with what was said."""
PERSON_STATE = "minions_evals_person"
"""Under this name the HTTP door keeps, with the request, whose token it brought."""
LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class Call:
    """The parts that a tool's function works with: the engine, the runs in the background, the operator's target, and who waits.

    `context` is the host's request, where it is one that the host may be asked something within.
    """

    engine: Engine
    runs: Runs
    target: str | None
    report_progress: Callable[[float, float | None, str | None], Awaitable[None]]
    context: Context[Any, Any] | None = None


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


def can_be_asked(context: Context[Any, Any]) -> bool:
    """Whether the client supports elicitation and a person answers its forms."""
    if not shows_forms(context.client_capabilities) or not takes_forms_from(context.request_context):
        return False
    return is_stateless(context) or context.request_context.session.can_send_request


def shows_forms(capabilities: ClientCapabilities | None) -> bool:
    """Reports whether a client with those capabilities shows forms."""
    asking = None if capabilities is None else capabilities.elicitation
    return asking is not None and not (asking.form is None and asking.url is not None)


def is_stateless(context: Context[Any, Any]) -> bool:
    """Whether the host is asked in the answer, and calls again with what was said."""
    return is_version_at_least(str(context.protocol_version), STATELESS)
