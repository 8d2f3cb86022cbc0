"""`/graphql` on the HTTP server: behind the same token and the same host and origin rules as MCP."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from graphql import ExecutionResult as GraphQLResult
from graphql import GraphQLError
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLHTTPResponse
from strawberry.types import ExecutionResult

from minions_evals_mcp.engine.near_ids import with_near_ids
from minions_evals_mcp.errors import EvalsError, NotFoundError
from minions_evals_mcp.presentation.next_steps import Queries, in_terms
from minions_evals_mcp.server.edge.logs import log
from minions_evals_mcp.server.graphql.context import Context
from minions_evals_mcp.server.graphql.document_limits import MAX_BODY_BYTES, body_problem
from minions_evals_mcp.server.graphql.ide_page import ide_page
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.session.calls import person_in
from minions_evals_mcp.server.session.opened import ServerSession

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/graphql"


class _Api(GraphQL[Context, None]):
    """Resolvers' context and errors in our words: `extensions.code` for programs, the message for people."""

    def __init__(self, session: ServerSession) -> None:
        super().__init__(
            graphql_schema(),
            graphql_ide=None,
            allow_queries_via_get=False,
            subscription_protocols=(),
        )
        self._session = session

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        """Gives resolvers the server's session and the person who calls."""
        del response
        return Context(self._session, person_in(request.scope))

    async def process_result(self, request: Request, result: ExecutionResult | GraphQLResult) -> GraphQLHTTPResponse:
        """Shows data and errors; a crash is told by an id only, its traceback is in the server's log."""
        del request
        answer: GraphQLHTTPResponse = {"data": result.data}
        if result.errors:
            named = [await self._with_near(error) for error in result.errors]
            answer["errors"] = [_public_error(error, self._session.store).formatted for error in named]
        return answer

    async def _with_near(self, error: GraphQLError) -> GraphQLError:
        """The same error; one about an id that is not there names those that may have been meant."""
        cause = error.original_error
        if not isinstance(cause, NotFoundError) or cause.near:
            return error
        near = await with_near_ids(await self._session.engine(), cause)
        return GraphQLError(str(near), error.nodes, error.source, error.positions, error.path, near)


def _public_error(error: GraphQLError, store: Path | None) -> GraphQLError:
    cause = error.original_error
    if cause is None or isinstance(cause, GraphQLError):  # the document's or its variables' fault
        return _with(error, error.message, {"code": "bad-document"})
    if isinstance(cause, EvalsError):
        terms = Queries(store)
        remedy = {"remedy": in_terms(cause.remedy_text, terms)} if cause.remedy_text else {}
        return _with(error, in_terms(cause.text, terms), {"code": cause.code, **remedy})
    ident = secrets.token_hex(4)
    log().error("graphql-crashed", id=ident, exc_info=cause)
    return _with(error, f"the server failed; its log has the error {ident}.", {"code": "internal-error"})


def _with(error: GraphQLError, message: str, extensions: dict[str, str]) -> GraphQLError:
    return GraphQLError(
        message, error.nodes, error.source, error.positions, error.path, extensions=dict[str, object](extensions)
    )


class GraphQLDoor:
    """The API for callers whose `Host` and `Origin` are answered here."""

    def __init__(self, session: ServerSession, security: TransportSecuritySettings, *, with_ide: bool) -> None:
        self._api: ASGIApp = _Api(session)
        self._with_ide = with_ide
        self._security = TransportSecurityMiddleware(security)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses another host with 421, another origin with 403 and another content type with 400."""
        request = Request(scope, receive)
        refused = await self._security.validate_request(request, is_post=request.method == "POST")
        if refused is not None or request.method != "POST":
            await (refused or self._read(request))(scope, receive, send)
            return
        body = await _body(request)
        if body is None:
            await PlainTextResponse(f"A request may have at most {MAX_BODY_BYTES} bytes.", 413)(scope, receive, send)
            return
        if (problem := body_problem(body)) is not None:
            answer = {"data": None, "errors": [{"message": problem, "extensions": {"code": "bad-document"}}]}
            await JSONResponse(answer, 400)(scope, receive, send)
            return
        await self._api(scope, _again(body, receive), send)

    def _read(self, request: Request) -> ASGIApp:
        """The page for a browser on this machine; else what says that queries are posted."""
        wants_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        return ide_page() if self._with_ide and wants_page else self._api


async def _body(request: Request) -> bytes | None:
    """The body; None for one that is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives the body once more, then what follows it."""
    parts = iter([body])

    async def received() -> Message:
        part = next(parts, None)
        return await receive() if part is None else {"type": "http.request", "body": part, "more_body": False}

    return received
