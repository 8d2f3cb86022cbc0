"""One exporter's connection over gRPC: HTTP/2 by h2, within the same bounds as every other connection.

grpcio's own server is not used: whoever ended its handshake held a place there for as long as they liked, and shut others out.
"""

from __future__ import annotations

import asyncio  # noqa: TID251  as uvicorn's protocols, which share the places
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from minions_evals_mcp.bounded_connections import GRACE_S, Places
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.logs.grpc_messages import (
    CONTENT_TYPE,
    FRAME,
    Headers,
    MessageFrame,
    closing,
    framed,
    opening,
)
from minions_evals_mcp.interop.logs.otlp_intake import KEPT, LATE, NOT_NOW, UNKNOWN_KIND, UNREADABLE, IntakeAnswer
from minions_evals_mcp.interop.logs.otlp_requests import LARGEST

IDLE_S = 300.0
"""A connection without a call is closed after this time; exporters open another."""
MOST_CALLS = 10_000
"""A connection is closed after so many calls, finished or not; exporters open another."""
AT_ONCE = 100
"""So many calls may be under way on a connection: the least that HTTP/2 recommends."""
MOST_HELD = 2 * (LARGEST + FRAME)
"""So many bytes of calls under way are held for a connection."""
WINDOW = 1_000_000
"""So many bytes may be on their way unasked."""
A_TURN, A_DATA_TURN = 256, 65_536
"""So many bytes of one connection are taken before it is the next one's turn; more of one that sends messages: heads are costly."""
MOST_IDLE_BYTES = 2 * WINDOW
"""So many bytes may come that are no call's message before one is whole."""
MOST_GIVEN_UP = 100
"""So many calls may be given up before one is whole."""
MORE_LATER = IntakeAnswer(NOT_NOW, "Too much is under way on this connection; send again later.")
ENDING = IntakeAnswer(NOT_NOW, "The endpoint ends; send again later.")
CUT_OFF = IntakeAnswer(LATE, "The request did not arrive whole in time.")


@dataclass(slots=True)
class GrpcCall:
    """One call: its path, its headers, and its message as far as it came."""

    stream: int
    path: str
    headers: dict[str, str]
    since: float
    frame: MessageFrame = field(default_factory=lambda: MessageFrame(bytearray()))


class CallService(Protocol):
    """Answers calls: at once by their headers, or after their message, with the reply's own."""

    def refusal(self, call: GrpcCall) -> IntakeAnswer | None:
        """Why the call is refused before its message is there."""
        ...

    async def reply(self, call: GrpcCall) -> tuple[IntakeAnswer, bytes]:
        """The answer, and the reply's message."""
        ...


@dataclass(frozen=True, slots=True)
class GrpcListener:
    """What the connections of a listener have in common. `start`: begins with what is to be awaited."""

    places: Places
    connections: set[GrpcConnection]
    service: CallService
    start: Callable[[Callable[[], Coroutine[Any, Any, None]]], object]


class GrpcConnection(asyncio.BufferedProtocol):
    """Takes calls as they come and answers them one after the other."""

    def __init__(self, held: GrpcListener) -> None:
        self._held, self._places = held, held.places
        self._loop = asyncio.get_running_loop()
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._h2.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: AT_ONCE,
                SettingCodes.INITIAL_WINDOW_SIZE: WINDOW,
                SettingCodes.MAX_HEADER_LIST_SIZE: self._h2.DEFAULT_MAX_HEADER_LIST_SIZE,
            },
        )
        self._transport = cast("asyncio.Transport", None)
        self._timer: asyncio.TimerHandle | None = None
        self._since = self._loop.time()
        self._is_met = False
        self._ending = False
        self._number = self._given_up = self._idle_bytes = 0
        self._room = memoryview(bytearray(A_DATA_TURN))
        self._turn = A_TURN
        self._open: dict[int, GrpcCall] = {}
        self._whole: deque[GrpcCall] = deque()
        self._answering: GrpcCall | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes a place, or is told to come again."""
        self._transport = cast("asyncio.Transport", transport)
        self._held.connections.add(self)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(WINDOW)
        peer = transport.get_extra_info("peername")
        if not self._places.admit(self, str(peer[0]) if peer else ""):
            self.refuse(503)
            return
        self._flush()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Gives the place back."""
        del exc
        self._places.leave(self)
        self._held.connections.discard(self)
        self._unwatch()
        self._open.clear()
        self._whole.clear()

    def pause_writing(self) -> None:
        """Whoever does not read replies is not read either."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The replies were read."""
        self._transport.resume_reading()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Room for what is taken in one turn, be there more or not."""
        del sizehint
        return self._room[: self._turn]

    def buffer_updated(self, nbytes: int) -> None:
        """Takes what came."""
        if self._transport.is_closing():
            return
        idle_before = self._idle_bytes
        self._idle_bytes += nbytes
        try:
            for event in self._h2.receive_data(bytes(self._room[:nbytes])):
                self._take(event)
        except H2Error:
            self._close()
            return
        if self._idle_bytes > MOST_IDLE_BYTES or self._given_up > MOST_GIVEN_UP:
            self._close(ErrorCodes.ENHANCE_YOUR_CALM)
            return
        self._turn = A_DATA_TURN if self._idle_bytes - idle_before < nbytes // 2 else A_TURN
        self._flush()
        self._close_if_done()
        self._watch()

    @property
    def is_busy(self) -> bool:
        """Whether a whole request waits for its reply."""
        return self._answering is not None or bool(self._whole)

    def is_overdue(self) -> bool:
        """Whether nothing has been complete for so long that another caller may have the place."""
        since = min((call.since for call in self._open.values()), default=self._since)
        return not self.is_busy and self._loop.time() - since > GRACE_S

    def refuse(self, status: int) -> None:
        """Ends the connection: whatever was under way can be sent again. `status` is for those who speak HTTP/1.1."""
        del status
        self._close(ErrorCodes.NO_ERROR)

    def end(self) -> None:
        """Takes no more calls, and closes once those that are whole are answered."""
        self._ending = True
        for call in list(self._open.values()):
            self._drop(call, ENDING)
        self._flush()
        self._close_if_done()

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            self._begin(
                event.stream_id, {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
            )
        elif isinstance(event, DataReceived):
            self._add(event)
        elif isinstance(event, StreamEnded):
            call = self._open.pop(event.stream_id, None)
            if call is not None:
                self._given_up = self._idle_bytes = 0
                self._whole.append(call)
                self._go_on()
        elif isinstance(event, StreamReset):
            self._given_up += 1
            self._open.pop(event.stream_id, None)
        elif isinstance(event, RemoteSettingsChanged):
            self._is_met = True
        elif isinstance(event, ConnectionTerminated):
            self._ending = True

    def _begin(self, stream: int, headers: dict[str, str]) -> None:
        """Takes a call's headers, and refuses what they already say cannot be taken."""
        self._number += 1
        if self._number > MOST_CALLS:
            self._ending = True
        call = GrpcCall(stream, headers.get(":path", ""), headers, self._loop.time())
        self._open[stream] = call
        refusal = ENDING if self._ending else self._wrong_kind(call) or self._held.service.refusal(call)
        if refusal is not None:
            self._drop(call, refusal)

    def _wrong_kind(self, call: GrpcCall) -> IntakeAnswer | None:
        kind = call.headers.get("content-type", "")
        if call.headers.get(":method") == "POST" and kind.partition(";")[0] in (CONTENT_TYPE, f"{CONTENT_TYPE}+proto"):
            return None
        return IntakeAnswer(UNKNOWN_KIND, f"Content-Type {kind!r} is not taken here: send gRPC with protobuf.")

    def _add(self, event: DataReceived) -> None:
        """Adds to a call's message; what comes for none is thrown away."""
        self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        call = self._open.get(event.stream_id)
        if call is None:
            return
        self._idle_bytes -= len(event.data)
        try:
            call.frame.add(event.data)
        except BadInputError as error:
            self._drop(call, IntakeAnswer(UNREADABLE, str(error)))
            return
        if self._bytes() > MOST_HELD:
            self._drop(call, MORE_LATER)

    def _bytes(self) -> int:
        waiting = (*self._open.values(), *self._whole, *(() if self._answering is None else (self._answering,)))
        return sum(len(call.frame.body) for call in waiting)

    def _go_on(self) -> None:
        """Begins with the next whole request, where none is under way."""
        if self._answering is None and self._whole:
            self._answering = self._whole.popleft()
            self._held.start(self._answer)

    async def _answer(self) -> None:
        """Answers whole requests in the order in which they came, until there is none."""
        while self._answering is not None:
            call = self._answering
            answer, message = await self._held.service.reply(call)
            self._answering = self._whole.popleft() if self._whole else None
            self._since = self._loop.time()
            if not self._transport.is_closing():
                self._send(call, answer, message)
                self._flush()
                self._watch()
        self._close_if_done()

    def _drop(self, call: GrpcCall, answer: IntakeAnswer) -> None:
        """Answers before the request is whole: the rest of it need not be sent."""
        self._open.pop(call.stream, None)
        self._send(call, answer, b"")
        try:
            self._h2.reset_stream(call.stream, ErrorCodes.NO_ERROR)
        except H2Error:  # it ended at the same time
            return

    def _send(self, call: GrpcCall, answer: IntakeAnswer, message: bytes) -> None:
        """Writes the reply; to a caller who left, or leaves no room for it, nothing."""
        try:
            if answer.outcome is KEPT:
                self._h2.send_headers(call.stream, opening())
                self._h2.send_data(call.stream, framed(message))
                self._h2.send_headers(call.stream, closing(answer), end_stream=True)
            else:
                trailers_only: Headers = [*opening(), *closing(answer)]
                self._h2.send_headers(call.stream, trailers_only, end_stream=True)
        except H2Error:
            return

    def _flush(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._h2.data_to_send())

    def _close_if_done(self) -> None:
        if self._ending and not self.is_busy and not self._open:
            self._close(ErrorCodes.NO_ERROR)

    def _close(self, code: ErrorCodes | None = None) -> None:
        """Says goodbye, with what h2 has said of an error, and closes."""
        self._unwatch()
        if self._transport.is_closing():
            return
        if code is not None:
            self._h2.close_connection(code)
        self._flush()
        self._transport.close()

    def _watch(self) -> None:
        """Sets the clock for what is awaited now."""
        self._unwatch()
        if not self._transport.is_closing() and not (self.is_busy and not self._open):
            self._timer = self._loop.call_at(self._due(), self._overrun)

    def _due(self) -> float:
        bounds = self._places.bounds
        if not self._is_met:
            return self._since + bounds.head_s
        if self._open:
            return min(call.since for call in self._open.values()) + bounds.body_s
        return self._since + IDLE_S

    def _overrun(self) -> None:
        """Ends what did not come in time: a call, or the connection where no call is under way."""
        self._timer = None
        if not self._is_met or not self._open:
            self._close(ErrorCodes.NO_ERROR)
            return
        latest = self._loop.time() - self._places.bounds.body_s
        for call in [call for call in self._open.values() if call.since <= latest]:
            self._drop(call, CUT_OFF)
        self._flush()
        self._watch()

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
