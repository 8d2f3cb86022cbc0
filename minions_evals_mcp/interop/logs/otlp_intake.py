"""What becomes of an exporter's request, by whatever protocol it came: kept, refused with the reason, or asked to come again."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio.to_thread

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import BadInputError, InvalidRecordError, StoreError, UnsupportedError
from minions_evals_mcp.interop.logs.otlp_requests import Rejected, Signal, document, small_enough, unpacked

AGAIN_S = 5
"""An exporter that is asked to wait comes again after so many seconds."""

Take = Callable[[Json], Awaitable[Rejected | None]]
"""Takes the document of a request in; raises `ValueError` saying what of it cannot be read, `StoreError` where it cannot be kept now."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request: the status that HTTP has for it, and gRPC's. `is_again`: the same request can be taken later."""

    http: int
    grpc: int
    is_again: bool = False


KEPT = Outcome(200, 0)
UNREADABLE = Outcome(400, 3)
STRANGER = Outcome(401, 16)
OF_A_PAGE = Outcome(403, 7)
LATE = Outcome(408, 4, is_again=True)
UNKNOWN_KIND = Outcome(415, 12)
BROKEN = Outcome(500, 13)
NOT_NOW = Outcome(503, 14, is_again=True)


@dataclass(frozen=True, slots=True)
class IntakeAnswer:
    """The outcome, why it is not wholly well, and how many items of a kept request were not taken."""

    outcome: Outcome
    why: str = ""
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """A request's body as it came, and how it is packed."""

    body: bytes
    encoding: str


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class OtlpIntake:
    """Takes the requests of exporters in; with a token, only of those who bring it. Where it is full, they are asked to wait."""

    takes: Mapping[Signal, Take]
    token: str | None = None
    is_full: Callable[[], bool] = _never
    large: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    def refusal(self, headers: Mapping[str, str]) -> IntakeAnswer | None:
        """Returns why a request with these headers is refused before its body is read."""
        if self.token is not None and not brings(headers, self.token):
            return IntakeAnswer(STRANGER, "A bearer token that is known is needed.")
        if "origin" in headers:  # a page in a browser is no exporter
            return IntakeAnswer(OF_A_PAGE, "Requests of web pages are not taken.")
        if self.is_full():
            return IntakeAnswer(NOT_NOW, "Too many traces wait; send again later.")
        return None

    async def take(self, signal: Signal, kind: str, sent: Callable[[], Awaitable[Sent]]) -> IntakeAnswer:
        """Reads the request and takes it in: once this says that it is kept, it is."""
        try:
            rejected = await self.takes[signal](await self._read(signal, kind, await sent()))
        except StoreError:
            return IntakeAnswer(NOT_NOW, "The store cannot be written; send again later.")
        except UnsupportedError as error:
            return IntakeAnswer(UNKNOWN_KIND, str(error))
        except (BadInputError, InvalidRecordError, ValueError) as error:
            return IntakeAnswer(UNREADABLE, str(error))
        return IntakeAnswer(KEPT) if rejected is None else IntakeAnswer(KEPT, rejected.why, rejected.number)

    async def _read(self, signal: Signal, kind: str, sent: Sent) -> Json:
        """The request's document; a large one is unpacked and read beside the others, and no two large ones at a time."""
        small = small_enough(sent.body, sent.encoding)
        if small is not None:
            return document(small, kind, signal)

        def read() -> Json:
            return document(unpacked(sent.body, sent.encoding), kind, signal)

        return await anyio.to_thread.run_sync(read, limiter=self.large)


def brings(headers: Mapping[str, str], token: str) -> bool:
    """Whether the headers have the bearer token."""
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(credentials.strip().encode(), token.encode())
