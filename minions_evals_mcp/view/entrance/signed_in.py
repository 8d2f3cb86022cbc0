"""The people who gave their token to the page. A browser keeps a random session only; the token stays in this process."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MAX_SESSIONS = 100


@dataclass(slots=True)
class SignedIn:
    """Tokens by session, in memory: they end with the page. `cookie` has the port in its name, for browsers share ports."""

    cookie: str
    secure: bool = False
    """The cookie travels over TLS only."""
    _tokens: OrderedDict[str, str] = field(default_factory=OrderedDict[str, str], repr=False)

    def token(self, request: Request) -> str:
        """The token of the request's session; empty without one."""
        return self._tokens.get(request.cookies.get(self.cookie, ""), "")

    def keep(self, request: Request, response: Response, token: str) -> None:
        """Starts a session with that token, in place of the browser's earlier one; the oldest of too many ends."""
        self._tokens.pop(request.cookies.get(self.cookie, ""), None)
        session = secrets.token_urlsafe(32)
        self._tokens[session] = token
        while len(self._tokens) > MAX_SESSIONS:
            self._tokens.popitem(last=False)
        response.set_cookie(self.cookie, session, httponly=True, samesite="strict", secure=self.secure)

    def forget(self, request: Request, response: Response) -> None:
        """Ends the request's session."""
        self._tokens.pop(request.cookies.get(self.cookie, ""), None)
        response.delete_cookie(self.cookie, httponly=True, samesite="strict", secure=self.secure)
