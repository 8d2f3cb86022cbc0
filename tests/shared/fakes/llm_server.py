"""A fake model server on 127.0.0.1: Anthropic messages and OpenAI chat completions, with faults on demand.

    python -m tests.shared.fakes.llm_server --port 0 --latency-ms 50 --p429 0.1      # prints its URL first
    async with serving(FakeSettings(p529=0.1)) as server: ... server.url, server.stats()

POST /v1/messages, /v1/chat/completions, /v1/embeddings, and where Azure, Bedrock and Vertex take them;
GET /stats; POST /reset; POST /config {"p429": 0.05, ...} (also resets).
A fault is drawn from a hash of (seed, body, how often that body came before): the same run meets the same faults in
whatever order its requests arrive, and a retry draws afresh. A key that begins with "wrong" is refused (401), so is a
model whose name holds "unknown" (404). A model whose name holds "leaky" says the key in its answer.
Answers: see `llm_answers`; bodies: see `llm_wire`.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251 - a bare Protocol answers thousands of requests a second, streams do not
import gzip
import hashlib
import json
import re
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import cast
from urllib.parse import unquote

import anyio
import anyio.lowlevel

from tests.shared.fakes.llm_answers import Answer, Object, answer, spoilt
from tests.shared.fakes.llm_wire import (
    ERRORS,
    anthropic_body,
    anthropic_events,
    dumps,
    embeddings_body,
    error_body,
    framed,
    http,
    openai_body,
    openai_events,
    with_tool_call,
)


@dataclass(frozen=True, slots=True)
class FakeSettings:
    """`p…` is the share of requests that meet the fault; at most one fault each, so their sum is at most 1."""

    latency_ms: float = 0.0
    p400: float = 0.0
    p401: float = 0.0
    p429: float = 0.0
    pquota: float = 0.0  # a 429 that no waiting cures
    p500: float = 0.0
    p529: float = 0.0
    pmalformed: float = 0.0  # a 200 whose JSON is cut off
    preset: float = 0.0  # the connection is reset
    phang: float = 0.0  # never answered
    ptrickle: float = 0.0  # a body that goes on for ever, a byte at a time
    pnocontent: float = 0.0  # content is null
    pnostop: float = 0.0  # no reason why it stopped
    pbadscore: float = 0.0  # the verdict's score is out of range or a word
    prefusal: float = 0.0
    pmaxtokens: float = 0.0
    pearly: float = 0.0  # a stream that ends before the answer does
    pmidway: float = 0.0  # a stream with an error in its midst
    pecho: float = 0.0  # a 400 that tells the key that it was sent
    pbomb: float = 0.0  # a 200 of 30 KB that unpacks to 30 MB
    predirect: float = 0.0  # a 307 to another host
    pnothing: float = 0.0  # a 200 without text, for 0 tokens
    token_ms: float = 0.0  # between two events of a stream
    retry_after_s: float = 1.0  # of a 429; below 0: none is sent
    seed: float = 1.0


OWN_REPLIES = ("pecho", "pbomb", "predirect")
BOMB = gzip.compress(b" " * 30_000_000, 9)
FAULTS = tuple(one.name for one in fields(FakeSettings) if one.name.startswith("p"))
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
CLOUD = re.compile(
    rb"/openai/deployments/(?P<deployment>[^/]+)/chat/completions$|/model/([^/]+)/invoke$"
    rb"|/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/([^/:]+):rawPredict$"
)
"""Paths at which clouds take a call, with the model's name in them."""
SENT_KEY = re.compile(rb"\r\n(?:x-api-key:[ \t]*|authorization:[ \t]*bearer[ \t]+)(\S+)", re.IGNORECASE)
KEY = re.compile(rb"\r\n(?:x-api-key:[ \t]*|authorization:[ \t]*bearer[ \t]+)wrong", re.IGNORECASE)


class Connection(asyncio.Protocol):
    """One client's connection: one request at a time, so that answers keep their order."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.loop = asyncio.get_running_loop()
        self.transport = cast("asyncio.Transport", None)
        self.buffer = b""
        self.busy = False
        self.counted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio.Protocol's signature
        self.server.connections.discard(self)
        self.left()

    def left(self) -> None:
        """The request, if there was one, is no longer in flight."""
        if self.counted:
            self.counted = False
            self.server.in_flight -= 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.busy:
            self.parse()

    def parse(self) -> None:
        """Take one whole request off the buffer and handle it."""
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[: end + 2]
        length = CONTENT_LENGTH.search(head)
        stop = end + 4 + (int(length.group(1)) if length else 0)
        if len(self.buffer) < stop:
            return
        body, self.buffer = self.buffer[end + 4 : stop], self.buffer[stop:]
        self.busy = True
        self.handle(head.split(b" ", 2)[1].split(b"?")[0], head, body)

    def handle(self, path: bytes, head: bytes, body: bytes) -> None:
        """Answer a request of any kind."""
        server = self.server
        if cloud := CLOUD.match(path):
            model = unquote(next(name for name in cloud.groups() if name is not None).decode())
            sent = {"model": model, **cast("Object", json.loads(body))}
            path, body = b"/v1/chat/completions" if cloud["deployment"] else b"/v1/messages", json.dumps(sent).encode()
        if path.endswith(b"/endpoints/openapi/chat/completions"):
            path = b"/v1/chat/completions"
        match path:
            case b"/v1/messages" | b"/v1/chat/completions" | b"/v1/embeddings":
                self.model_call(path, head, body)
            case b"/stats":
                self.send(http(200, server.stats()))
            case b"/reset":
                server.reset()
                self.send(http(200, {}))
            case b"/config":
                try:
                    server.configure(replace(server.settings, **json.loads(body)))
                except (TypeError, ValueError) as error:
                    self.send(http(400, {"error": str(error)}))
                else:
                    self.send(http(200, server.stats()))
            case _:
                self.send(http(404, error_body("not_found_error", "no such path")))

    def model_call(self, path: bytes, head: bytes, body: bytes) -> None:
        """Count the request, draw its fault, and answer after the latency."""
        server = self.server
        server.requests += 1
        server.last_body, server.last_head = body, head
        if server.heard is not None:
            server.heard.append(body)
        server.in_flight += 1
        server.max_in_flight = max(server.max_in_flight, server.in_flight)
        self.counted = True
        fault = "p401" if KEY.search(head) else server.draw(body)
        key = SENT_KEY.search(head)
        reply = self.refusal(body) or self.reply(path, body, fault, key.group(1).decode() if key else "")
        server.statuses[fault or "200"] += 1
        if fault == "phang":
            return
        work = partial(self.send, reply)
        if fault == "preset":
            work = self.reset_connection
        elif fault == "ptrickle":
            work = partial(self.trickle, reply)
        if server.held is not None:
            server.held.append(work)
            if len(server.held) == server.crowd:
                server.release()
        elif server.settings.latency_ms:
            self.loop.call_later(server.settings.latency_ms / 1000, work)
        else:
            work()

    def refusal(self, body: bytes) -> bytes:
        """A 400 where the server's habit is to refuse such a request; empty where it is not."""
        why = self.server.habit(cast("Object", json.loads(body))) if self.server.habit else ""
        if not why:
            return b""
        self.server.refused += 1
        return http(400, error_body("invalid_request_error", why))

    def reply(self, path: bytes, body: bytes, fault: str, key: str) -> bytes:
        """The whole HTTP reply."""
        request = cast("Object", json.loads(body))
        wanted = "input" if path == b"/v1/embeddings" else "messages"
        if not isinstance(request.get(wanted), list) or not request.get("model"):
            fault = "p400"
        elif "unknown" in str(request["model"]):
            fault = "p404"
        if fault in ERRORS or fault in OWN_REPLIES:
            return self.error(fault, key)
        if path == b"/v1/embeddings":
            vectors = self.server.canned or dumps(embeddings_body(request)).encode()
            return framed(200, vectors[: len(vectors) // 2] if fault == "pmalformed" else vectors)
        said = self.put_in_its_mouth(answer(request, dumps), request, body)
        if "leaky" in str(request["model"]):
            leaked = (
                json.dumps(said.value).replace("The answer", f"The key {key}") if said.judge else f"My key is {key}."
            )
            said = replace(said, text=leaked)
        if said.judge:
            self.server.judge += 1
        else:
            self.server.target += 1
        if fault == "pbadscore" and said.value is not None:
            said = replace(said, text=dumps(spoilt(said.value, as_text=len(body) % 2 == 0)))
        anthropic = path == b"/v1/messages"
        whole = (anthropic_body if anthropic else openai_body)(str(request["model"]), said, fault)
        whole = with_tool_call(whole, request)
        if request.get("stream") is True and self.server.streams:
            written = (anthropic_events if anthropic else openai_events)(whole, fault)
            return framed(200, self.server.canned or b"".join(written), kind=b"text/event-stream")
        cut = self.server.canned or dumps(whole).encode()
        return framed(200, cut[: len(cut) // 2] if fault == "pmalformed" else cut)

    def put_in_its_mouth(self, said: Answer, request: Object, body: bytes) -> Answer:
        """The reply, or what the test has the model say."""
        if self.server.scripted and b'"verb"' in body:
            return replace(said, text=self.server.scripted.pop(0))
        if self.server.says is not None:
            return replace(said, text=self.server.says(request), value=None)
        return said

    def error(self, fault: str, key: str) -> bytes:
        """The HTTP reply of a fault that has a status of its own."""
        if fault == "pbomb":
            return framed(200, BOMB, b"content-encoding: gzip\r\n")
        if fault == "predirect":
            return framed(
                307, b"", b"location: http://127.0.0.2:%d/v1/messages\r\n" % int(self.server.url.rpartition(":")[2])
            )
        if fault == "pecho":
            return http(400, error_body("invalid_request_error", f"{'x' * 150} incorrect API key provided: {key}."))
        status, kind, message = ERRORS[fault]
        after = self.server.settings.retry_after_s
        extra = b"retry-after: %g\r\n" % after if fault == "p429" and after >= 0 else b""
        return http(status, error_body(kind, message), extra)

    def send(self, reply: bytes) -> None:
        """Write the reply and take up the next request."""
        self.left()
        if self.transport.is_closing():
            return
        if self.server.settings.token_ms and b"text/event-stream" in reply[:200]:
            self.write_slowly(reply.split(b"\n\n"))
            return
        self.transport.write(reply)
        self.written()

    def written(self) -> None:
        """Take up the next request."""
        self.busy = False
        if self.buffer:
            self.loop.call_soon(self.parse)

    def write_slowly(self, events: list[bytes]) -> None:
        """Write one event after the other, with a pause before each but the first."""
        if self.transport.is_closing():
            return
        first, *rest = events
        self.transport.write(first + b"\n\n" if rest else first)
        if rest:
            self.loop.call_later(self.server.settings.token_ms / 1000, self.write_slowly, rest)
        else:
            self.written()

    def trickle(self, reply: bytes) -> None:
        """Write the head, then one byte of body every 10 ms for ever."""
        if self.transport.is_closing():
            return
        head, separator, _ = reply.partition(b"\r\n\r\n")
        if separator:
            self.transport.write(re.sub(rb"content-length: \d+", b"content-length: 1000000", head) + separator)
        else:
            self.transport.write(b" ")
        self.loop.call_later(0.01, self.trickle, b"")

    def reset_connection(self) -> None:
        """Close with RST instead of FIN."""
        self.left()
        sock = cast("socket.socket", self.transport.get_extra_info("socket"))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


@dataclass(slots=True)
class Server:
    """A running fake: its address, its settings and what it counted."""

    settings: FakeSettings
    url: str = ""
    requests: int = 0
    target: int = 0
    judge: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    last_body: bytes = b""
    last_head: bytes = b""
    heard: list[bytes] | None = None  # every body, where a test sets a list
    scripted: list[str] = field(
        default_factory=list[str]
    )  # set in process: what an agent's model replies, one after the other
    habit: Callable[[Object], str] | None = (
        None  # set in process: why a request is refused (HTTP 400), for nothing; else ""
    )
    says: Callable[[Object], str] | None = None  # set in process: the text of a reply, from its request
    refused: int = 0
    canned: bytes = b""  # set in process: the body of every 200 from then on
    held: list[Callable[[], None]] | None = None  # replies that wait until they are released
    crowd: int = 0
    streams: bool = True  # set to False in process: whoever asks for a stream gets a whole reply
    faults: Counter[str] = field(default_factory=Counter[str])
    statuses: Counter[str] = field(default_factory=Counter[str])
    bodies: dict[bytes, int] = field(default_factory=dict[bytes, int])
    connections: set[Connection] = field(default_factory=set[Connection])
    cpu_at_reset: float = field(default_factory=time.process_time)

    def configure(self, settings: FakeSettings) -> None:
        """New settings, counters at zero."""
        self.settings = settings
        self.reset()

    def reset(self) -> None:
        """Counters at zero; what is in flight stays in flight."""
        self.requests = self.target = self.judge = 0
        self.max_in_flight = self.in_flight
        self.faults.clear()
        self.statuses.clear()
        self.bodies.clear()
        self.cpu_at_reset = time.process_time()

    def hold(self, crowd: int = 0) -> None:
        """In process: replies wait until they are released, each time that so many wait or once for all."""
        self.held, self.crowd = [], crowd

    def release(self) -> None:
        """Sends what was held; without a crowd to wait for, replies go out at once from now on."""
        held, self.held = self.held or [], [] if self.crowd else None
        for reply in held:
            reply()

    def stats(self) -> Object:
        """Everything counted since the start or the last reset."""
        return {
            "requests": self.requests,
            "target": self.target,
            "judge": self.judge,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "faults": {**self.faults},
            "statuses": {**self.statuses},
            "distinct_bodies": len(self.bodies),
            "repeats": sum(self.bodies.values()) - len(self.bodies),
            "cpu_s": round(time.process_time() - self.cpu_at_reset, 3),
            "settings": cast("Object", asdict(self.settings)),
        }

    def draw(self, body: bytes) -> str:
        """Count this body; the fault that this request meets, or ""."""
        key = hashlib.blake2b(body, digest_size=16).digest()
        attempt = self.bodies.get(key, 0)
        self.bodies[key] = attempt + 1
        drawn = hashlib.blake2b(b"%d:%d:" % (int(self.settings.seed), attempt) + key, digest_size=7).digest()
        share = int.from_bytes(drawn, "big") / (1 << 56)
        for fault in FAULTS:
            share -= cast("float", getattr(self.settings, fault))
            if share < 0:
                self.faults[fault] += 1
                return fault
        return ""


@asynccontextmanager
async def serving(settings: FakeSettings | None = None, *, port: int = 0) -> AsyncGenerator[Server]:
    """A fake that listens on loopback until the block ends."""
    server = Server(settings or FakeSettings())
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Connection(server), "127.0.0.1", port, backlog=4096)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        for connection in list(server.connections):
            connection.transport.abort()
        with anyio.CancelScope(shield=True):
            while server.connections:
                await anyio.lowlevel.checkpoint()


async def serve(settings: FakeSettings, port: int) -> None:
    """Say the URL, then serve until SIGTERM or SIGINT."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with serving(settings, port=port) as server:
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            async for _ in signals:
                return


def main() -> None:
    """The command line: `--port` and every field of `FakeSettings`."""
    parser = argparse.ArgumentParser(description="fake model server, 127.0.0.1 only")
    parser.add_argument("--port", type=int, default=0)
    for one in fields(FakeSettings):
        parser.add_argument(f"--{one.name.replace('_', '-')}", type=float, default=one.default)
    given = cast("dict[str, float]", vars(parser.parse_args()))
    port = int(given.pop("port"))
    anyio.run(serve, FakeSettings(**given), port)


if __name__ == "__main__":
    main()
