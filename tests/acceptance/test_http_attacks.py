"""Callers over HTTP who mean no good: the real process with few descriptors stays up, answers others, and logs little."""

from __future__ import annotations

import asyncio  # noqa: TID251  the clock of the loop that uvicorn runs on
import socket
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from logging import LogRecord
from pathlib import Path
from subprocess import PIPE, Popen

import anyio
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic_core import from_json

from minions_evals_mcp.bounded_connections import ConnectionLimits, bounds_within
from minions_evals_mcp.server.edge.logs import Sparing
from tests.hang import HANG_S
from tests.shared.server.hosts import Host
from tests.shared.server.web import TOKEN, served
from tests.shared.server.wire import COMMAND, environment

pytestmark = pytest.mark.anyio
DESCRIPTORS = 256
HEADERS = {"authorization": f"Bearer {TOKEN}"}


@dataclass(frozen=True, slots=True)
class Attacked:
    """A server that is attacked: where it is, and what it writes down."""

    url: str
    log: Path

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.url.removeprefix("http://").partition("/")[0].partition(":")
        return host, int(port)

    def say(self, text: bytes) -> socket.socket:
        """A connection on which that was said."""
        caller = socket.create_connection(self.address, timeout=HANG_S)
        caller.sendall(text)
        return caller


@contextmanager
def attacked(folder: Path) -> Generator[Attacked]:
    """The real process with 256 descriptors and a token."""
    log = folder / "stderr"
    few = ("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh")
    env = environment(folder, MINIONS_EVALS_HTTP_TOKEN=TOKEN)
    with (
        log.open("wb") as written,
        Popen([*few, *COMMAND, "--http", "127.0.0.1:0"], env=env, stdout=PIPE, stderr=written) as process,
    ):
        try:
            while b"\n" not in log.read_bytes():
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            yield Attacked(from_json(log.read_bytes().partition(b"\n")[0])["url"], log)
        finally:
            process.terminate()
            process.wait(HANG_S)


async def answered(url: str) -> None:
    """An honest caller with the token is answered; one that was told to come again comes again."""
    async with (
        httpx2.AsyncClient(headers=HEADERS, timeout=HANG_S) as web,
        Client(streamable_http_client(url, http_client=web)) as client,
    ):
        assert (await Host(client).call("list_records", type="benchmark"))["records"] == []


async def test_three_hundred_half_requests_without_a_token_keep_nobody_out_and_fill_no_log(tmp_path: Path) -> None:
    with attacked(tmp_path) as server, ExitStack() as callers:
        with anyio.fail_after(HANG_S):
            await answered(server.url)
        half = [
            callers.enter_context(server.say(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")) for _ in range(300)
        ]
        await anyio.sleep(2.5)
        with anyio.fail_after(HANG_S):
            for _ in range(3):
                await answered(server.url)
        ended = [caller.recv(200) for caller in half if _has_news(caller)]
        assert any(said.startswith(b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n") for said in ended)
        assert server.log.stat().st_size < 10_000, server.log.read_text()[:3000]


def _has_news(caller: socket.socket) -> bool:
    caller.settimeout(0.01)
    try:
        return bool(caller.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False


def test_without_the_token_nobody_is_waited_for(tmp_path: Path) -> None:
    with attacked(tmp_path) as server:
        head = (
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\nAuthorization: Bearer wrong\r\n\r\n"
        )
        with server.say(head) as caller:
            assert caller.recv(100).startswith(b"HTTP/1.1 401 ")
            while caller.recv(1000):
                pass  # it is closed, though the body never came


SHORT = ConnectionLimits(connections=4, each=3, head_s=0.3, body_s=0.6, body_bytes=10_000)
PATIENT = replace(SHORT, head_s=100, body_s=100)
BODY = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: "


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"POST /mcp HTTP/1.1\r\nHost: 127", b"408"),
        (b"", b"408"),
        (BODY + b"50\r\n\r\n{", b"408"),
        (BODY + b"50000\r\n\r\n" + b"x" * 20_000, b"413"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000, b"400"),
        (b"\0\1\2\r\n\r\n", b"400"),
    ],
)
async def test_a_request_has_limits_in_time_and_size(tmp_path: Path, said: bytes, status: bytes) -> None:
    bounds = SHORT if status == b"408" else PATIENT
    async with served(tmp_path, bounds=bounds) as door, await anyio.connect_tcp("127.0.0.1", door.port) as caller:
        if said:
            await caller.send(said)
        with anyio.fail_after(HANG_S):
            assert (await caller.receive()).startswith(b"HTTP/1.1 " + status)


@pytest.fixture
async def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the loop's clock on by so many seconds: its timers go by it, and a machine under load changes nothing."""
    loop, ahead = asyncio.get_running_loop(), [0.0]
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + ahead[0])

    def set_on(seconds: float) -> None:
        ahead[0] += seconds

    return set_on


async def test_where_all_places_are_taken_the_next_is_told_to_come_again(
    tmp_path: Path, later: Callable[[float], None]
) -> None:
    async with served(tmp_path, bounds=PATIENT) as door:
        held = [await anyio.connect_tcp("127.0.0.1", door.port) for _ in range(3)]
        with anyio.fail_after(HANG_S):
            async with await anyio.connect_tcp("127.0.0.1", door.port) as late:
                assert b"retry-after: 5" in await late.receive()
            later(PATIENT.head_s)
            for one in held:  # time ends them, and then there are places again
                assert (await one.receive()).startswith(b"HTTP/1.1 408 ")
                await one.aclose()
            async with httpx2.AsyncClient(timeout=HANG_S) as client:
                found = await client.get(door.url.replace("/mcp", "/nothing"))
                assert found.status_code == 404, found.text


async def test_a_caller_who_keeps_a_connection_open_has_all_the_time_for_each_request(
    tmp_path: Path, later: Callable[[float], None]
) -> None:
    async with served(tmp_path, bounds=PATIENT) as door, await anyio.connect_tcp("127.0.0.1", door.port) as caller:
        said = BufferedByteReceiveStream(caller)
        for _ in range(4):
            with anyio.fail_after(HANG_S):
                await caller.send(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\n\r\n".encode())
                assert (await said.receive_until(b"}", 10_000)).startswith(b"HTTP/1.1 200 ")
            later(0.4 * PATIENT.head_s)


@pytest.mark.parametrize("descriptors", [32, 64, 256, 1024, 65_536])
def test_the_bounds_leave_the_process_descriptors_of_its_own(descriptors: int) -> None:
    found = bounds_within(descriptors)
    assert 0 < found.each <= found.connections <= 512
    assert descriptors < 256 or found.connections + 6 * found.at_once + 64 <= descriptors


def test_a_place_in_the_code_that_says_the_same_again_and_again_is_cut_short_and_counted() -> None:
    now = [0.0]
    sparing = Sparing(lines=2, seconds=10, clock=lambda: now[0])
    written: list[str] = []
    for second in range(25):
        now[0] = float(second)
        record = _record(f"caller {second} is wrong")
        if sparing.filter(record):
            written.append(record.getMessage())
    assert written == [
        "caller 0 is wrong", "caller 1 is wrong", "caller 10 is wrong (8 similar messages omitted)", "caller 11 is wrong",
        "caller 20 is wrong (8 similar messages omitted)", "caller 21 is wrong",
    ]  # fmt: skip


def _record(said: str) -> LogRecord:
    return LogRecord("library", 30, "somewhere.py", 7, said, None, None)
