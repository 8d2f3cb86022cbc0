"""The door and who is let in: this machine's own browser with the token that was printed, or people who signed in with theirs."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from minions_evals_mcp.private_files import read_private, write_private
from minions_evals_mcp.view.entrance.visitors import nobody

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
METRICS = "/metrics"
READING = frozenset({"GET", "HEAD"})
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
GUARDED = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: under it a browser sends `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


KEPT_S = 30 * 24 * 3600
"""A browser keeps the cookie for so long, so that links to pages last."""


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Keys:
    """The port that is listened on, the token that opens the page, and the cookie that keeps it open."""

    port: int
    token: str = field(default_factory=_secret, repr=False)
    session: str = field(default_factory=_secret, repr=False)

    @classmethod
    def kept(cls, port: int, file: Path) -> Keys:
        """The keys in that file, made where it is missing; only its owner can read it. Without such a file, new ones."""
        try:
            found = json.loads(read_private(file))
            return cls(port, token=str(found["token"]), session=str(found["session"]))
        except (OSError, ValueError, KeyError, TypeError):
            made = cls(port)
        with suppress(OSError):
            write_private(file, json.dumps({"token": made.token, "session": made.session}))
        return made

    @property
    def url(self) -> str:
        """The address to give to a browser."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie's name: a browser keeps one jar for all ports of a machine."""
        return f"minions-evals-{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which the page answers; a foreign one is a page that points its name at this machine."""
        return frozenset({f"{HOST}:{self.port}", f"localhost:{self.port}"})

    @property
    def origins(self) -> frozenset[str]:
        """The sites whose forms are taken: the page's own."""
        return frozenset(f"http://{host}" for host in self.hosts)

    async def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to whoever does not hold the key; None lets the request in."""
        token = Request(scope).query_params.get("token")
        if token is not None and scope["method"] == "GET":
            return self._opened(scope, token)
        if scope["path"] == METRICS and _equal(headers.get("authorization", ""), f"Bearer {self.token}"):
            return None  # a scraper keeps no cookie
        return None if _equal(cookie_of(headers, self.cookie), self.session) else _locked()

    def _opened(self, scope: Scope, token: str) -> Response:
        """The same address without the token, which then stands in no history and no referrer."""
        if not _equal(token, self.token):
            return _locked()
        address = URL(scope=scope).remove_query_params("token")
        path = "/" + address.path.lstrip("/")  # two slashes would name another host
        opened = RedirectResponse(f"{path}?{address.query}" if address.query else path, 303)
        opened.set_cookie(self.cookie, self.session, max_age=KEPT_S, httponly=True, samesite="strict")
        return opened


class Entrance(Protocol):
    """Who is let in, and under which names."""

    @property
    def hosts(self) -> frozenset[str]:
        """The `Host` headers that are answered."""
        ...

    @property
    def origins(self) -> frozenset[str]:
        """The sites whose forms are taken."""
        ...

    async def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to whoever is not let in; None lets the request in."""
        ...


class Guarded:
    """The pages for whoever is let in; every answer carries the policy that nothing foreign runs under."""

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app = app
        self._entrance = entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request that is let in, refuses any other."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in GUARDED.items():
                    headers.setdefault(name, value)
            await send(message)

        with nobody():
            await ((await self._refusal(scope)) or self._app)(scope, receive, sending)

    async def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host") not in self._entrance.hosts:
            return PlainTextResponse("This page answers only at its own address.", 421)
        if not self._own_origin(scope["method"], headers):
            return PlainTextResponse("This request came from another site.", 403)
        return await self._entrance.refusal(scope, headers)

    def _own_origin(self, method: str, headers: Headers) -> bool:
        """Returns whether a page of ours asked; what changes something must say so."""
        origin = headers.get("origin")
        if origin is None:
            return method in READING
        return origin in self._entrance.origins


def _locked() -> Response:
    return PlainTextResponse("Open the address that `minions-evals view` printed: it contains the token.", 401)


def cookie_of(headers: Headers, name: str) -> str:
    """The value of that cookie; empty without one."""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


def _equal(text: str, wanted: str) -> bool:
    return secrets.compare_digest(text.encode(), wanted.encode())
