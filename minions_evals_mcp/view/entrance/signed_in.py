"""The people who gave their token to the page. A browser keeps a random session only; the token stays in this process."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MAX_SESSIONS = 20
"""So many browsers can one person be signed in with at the same time."""


@dataclass(slots=True)
class SignedIn:
    """Tokens by session, in memory: they end with the page. `cookie` has the port in its name, for browsers share ports."""

    cookie: str
    secure: bool = False
    """The cookie travels over TLS only."""
    _tokens: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """The oldest session first."""

    def token(self, request: Request) -> str:
        """The token of the request's session; empty without one."""
        return self._tokens.get(request.cookies.get(self.cookie, ""), "")

    def keep(self, request: Request, response: Response, token: str) -> None:
        """Starts a session with that token, which is somebody's, in place of the browser's earlier one.

        The oldest of too many sessions of that person ends, and nobody else's.
        """
        self._tokens.pop(request.cookies.get(self.cookie, ""), None)
        session = secrets.token_urlsafe(32)
        self._tokens[session] = token
        own = [other for other, held in self._tokens.items() if held == token]
        for old in own[:-MAX_SESSIONS]:
            del self._tokens[old]
        response.set_cookie(self.cookie, session, httponly=True, samesite="strict", secure=self.secure)

    def forget(self, request: Request, response: Response) -> None:
        """Ends the request's session."""
        self._tokens.pop(request.cookies.get(self.cookie, ""), None)
        response.delete_cookie(self.cookie, httponly=True, samesite="strict", secure=self.secure)
