"""The page for a team: each person signs in with their own token, and sees and does what their role allows."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.persons import person_with_token
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.network_address import NetworkAddress, read_address
from minions_evals_mcp.view.entrance.door import METRICS, READING
from minions_evals_mcp.view.entrance.signed_in import SignedIn
from minions_evals_mcp.view.entrance.visitors import lets_in

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Scope

SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
BEARER = "Bearer "


@dataclass(frozen=True, slots=True)
class PeopleEntrance:
    """Lets in whoever signed in. `behind_tls`: a proxy ends TLS in front, so browsers ask under https alone.
    `open_paths`: what is shown to whoever asks."""

    engine: Engine
    address: NetworkAddress
    signed_in: SignedIn
    behind_tls: bool
    open_paths: frozenset[str]

    @property
    def hosts(self) -> frozenset[str]:
        """The `Host` headers that are answered."""
        return self.address.hosts

    @property
    def origins(self) -> frozenset[str]:
        """The sites whose forms are taken: the page's own."""
        named = {f"{'https' if self.behind_tls else 'http'}://{host}" for host in self.address.named_hosts}
        own = self.address.own_hosts if self.address.is_loopback else frozenset[str]()
        return frozenset(named | {f"http://{host}" for host in own})

    async def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Leads to the sign-in where nobody is known; a token whose person was removed is nobody's from then on."""
        if scope["path"] in self.open_paths:
            return None
        request = Request(scope)
        given = headers.get("authorization", "")
        is_scraper = scope["path"] == METRICS and given.startswith(BEARER)
        token = given.removeprefix(BEARER) if is_scraper else self.signed_in.token(request)
        person = await person_with_token(self.engine, token) if token else None
        if person is not None:
            lets_in(person)
            return None
        if scope["method"] in READING and "text/html" in headers.get("accept", ""):
            return RedirectResponse(f"{SIGN_IN}?{urlencode({'next': _asked(request)})}", HTTPStatus.SEE_OTHER)
        return PlainTextResponse("Sign in first.", HTTPStatus.UNAUTHORIZED)


def page_address(text: str, *, allowed_hosts: tuple[str, ...], behind_tls: bool) -> NetworkAddress:
    """The address of a page for people; raises `BadInputError` for one at which their tokens could be read on their way."""
    address = read_address(text, allowed_hosts=allowed_hosts)
    if address.is_loopback and (behind_tls or not allowed_hosts):
        return address
    missing = [
        option
        for option, is_there in (
            ("--allowed-host with the name that browsers use", bool(allowed_hosts)),
            ("--behind-tls if a proxy in front terminates TLS", behind_tls),
        )
        if not is_there
    ]
    if missing:
        raise BadInputError(
            f"people would send their tokens to {address.authority} over the network in plain text.",
            remedy=f"Add {' and '.join(missing)}, or listen on 127.0.0.1 only.",
        )
    return address


def _asked(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
