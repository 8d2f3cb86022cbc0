"""An application of the user's behind an address: real HTTP on loopback, answers as the test says."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic import JsonValue


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> JsonValue:
        """The body as JSON."""
        return json.loads(self.body)


Answering = Callable[[Asked], Awaitable[bytes]]


@dataclass
class Application:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list[Asked])


def reply(body: JsonValue | bytes, *, status: str = "200 OK", **headers: str) -> bytes:
    """An HTTP reply; what is no bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {"content-length": str(len(raw)), "connection": "close", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + raw


@asynccontextmanager
async def application(answering: Answering) -> AsyncGenerator[Application]:
    """An application that answers as the function says."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610  of a socket, no Django
    app = Application(f"http://127.0.0.1:{port}")

    async def serve(stream: SocketStream) -> None:
        async with stream:
            try:
                asked = await _read(BufferedByteReceiveStream(stream))
                app.asked.append(asked)
                await stream.send(await answering(asked))
            except (anyio.BrokenResourceError, anyio.IncompleteRead):
                return  # the caller gave up

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield app
        tasks.cancel_scope.cancel()


async def _read(stream: BufferedByteReceiveStream) -> Asked:
    head = (await stream.receive_until(b"\r\n\r\n", 65_536)).decode()
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await stream.receive_exactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)
