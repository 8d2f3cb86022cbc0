"""Signing in and out of a page for a team."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from minions_evals_mcp.engine.people.persons import person_with_token
from minions_evals_mcp.view.entrance.team import SIGN_IN, SIGN_OUT
from minions_evals_mcp.view.parameters import engine_of, form_of, named, signed_in
from minions_evals_mcp.view.rendering import rendered
from minions_evals_mcp.view.served_files import file_routes

OPEN = frozenset({SIGN_IN, *(route.path for route in file_routes())})
"""What is shown to whoever asks: the form, and the files that it is drawn with."""


def people_routes() -> list[Route]:
    """The addresses that a page for people has besides."""
    return [
        Route(SIGN_IN, sign_in_form, methods=["GET"]),
        Route(SIGN_IN, signing_in, methods=["POST"]),
        Route(SIGN_OUT, signing_out, methods=["POST"]),
    ]


async def sign_in_form(request: Request) -> Response:
    """The form for a person's token."""
    return rendered("sign_in", next=_own_path(named(request, "next")), wrong="")


async def signing_in(request: Request) -> Response:
    """Starts a session for whoever brings a person's token, and leads to the page that was asked for."""
    form = await form_of(request)
    token, following = form.get("personToken", "").strip(), _own_path(form.get("next", ""))
    if not token or await person_with_token(engine_of(request), token) is None:
        wrong = (
            "This token belongs to nobody in this store. The operator creates one with: minions-evals people add NAME"
        )
        return rendered("sign_in", status=HTTPStatus.FORBIDDEN, next=following, wrong=wrong)
    opened = RedirectResponse(following, HTTPStatus.SEE_OTHER)
    signed_in(request).keep(request, opened, token)
    return opened


async def signing_out(request: Request) -> Response:
    """Ends the session."""
    closed = RedirectResponse(SIGN_IN, HTTPStatus.SEE_OTHER)
    signed_in(request).forget(request, closed)
    return closed


def _own_path(text: str) -> str:
    """The path on this page that was asked for; the overview for what leads anywhere else."""
    is_own = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_own and not text.startswith((SIGN_IN, SIGN_OUT)) else "/"
